"""Latencies: medians over rounds with percentile bootstrap intervals, ratios within rounds, statements of the paper.

The counted FLOPs are published figures, and what follows from them is recomputed.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tools.audit.exports import Row
from tools.audit.inference import ALPHA
from tools.audit.rule import Published, Rule
from tools.audit.study import Study
from tools.audit.verdicts import generator

RESAMPLES = 4000
Median = tuple[float, float, float]
"""A median with its interval."""


def _medians(values: Sequence[float], sample: str) -> np.ndarray:
    ordered = np.sort(values)
    places = generator(f"bootstrap {sample}").integers(len(ordered), size=(RESAMPLES, len(ordered)))
    return np.asarray(np.median(ordered[places], axis=1))


def _median(values: Sequence[float]) -> Median:
    return _with_interval(float(np.median(values)), _medians(values, "first"))


def _with_interval(value: float, resampled: np.ndarray) -> Median:
    low, high = np.quantile(resampled, (ALPHA / 2, 1 - ALPHA / 2))
    return value, float(low), float(high)


class Rounds:
    """The seconds of every round by length and arm, and the published FLOPs."""

    def __init__(self, study: Study) -> None:
        measured = study.export.shared_results("latency")
        self.seconds: dict[int, dict[str, list[float]]] = {each["length"]: each["seconds"] for each in measured}
        self.arms: list[str] = measured[0]["arms"]
        rows = study.export.tables["results"]
        self.flops = {(row["arm"], int(row["length"])): int(row["flops"]) for row in rows}
        document = study.document
        self.baseline, self.sequences = document["baseline"], document["timing"]["batch_sequences"]
        own = document["arms"][self.baseline]
        self.controls = [arm for arm in self.arms if arm != self.baseline and document["arms"][arm] == own]

    def ratios(self, first: str, second: str, length: int) -> list[float]:
        """Return by round how many times as fast the first arm is."""
        return [b / a for a, b in zip(*(self.seconds[length][arm] for arm in (first, second)), strict=True)]

    @property
    def noise(self) -> float:
        """The largest departure of a control's interval from 1, as a factor."""
        found = [_median(self.ratios(arm, self.baseline, n)) for arm in self.controls for n in self.seconds]
        return max((max(high, 1 / low) for _, low, high in found), default=1.0)


def results(study: Study, _: Published) -> Iterator[Row]:
    """Yield time and speed of every arm at every length."""
    rounds = Rounds(study)
    for length, by_arm in rounds.seconds.items():
        for arm in rounds.arms:
            time = [1e3 * value for value in _median([each / rounds.sequences for each in by_arm[arm]])]
            speed = _median(rounds.ratios(arm, rounds.baseline, length))
            row: Row = {"arm": arm, "length": length, "n": len(by_arm[arm])}
            row |= dict(zip(("milliseconds", "low", "high"), time, strict=True))
            row |= dict(zip(("times_as_fast", "times_low", "times_high"), speed, strict=True))
            yield {**row, "flops_ratio": rounds.flops[arm, length] / rounds.flops[rounds.baseline, length]}


def trials(study: Study, published: Published) -> Iterator[Row]:
    """Yield the time of every arm at every length in long form."""
    for row in results(study, published):
        at = {"arm": row["arm"], "seed": None, "task": f"length {row['length']}", "metric": "milliseconds"}
        yield {**at, "value": row["milliseconds"]}


def orderings(study: Study, _: Published) -> Iterator[Row]:
    """Yield the paper's statements at every length, by counted FLOPs and by time."""
    rounds, paper = Rounds(study), study.document.get("paper") or {}
    noise, lengths = rounds.noise, sorted(rounds.seconds)
    for statement in paper.get("orderings", []):
        first, second = statement.split(" > ")
        for length in lengths:
            fewer = rounds.flops[second, length] / rounds.flops[first, length]
            timed = _median(rounds.ratios(first, second, length))
            n = len(rounds.seconds[length][first])
            yield from _both(statement, f"n = {length}", fewer, timed, noise, n)
    for arm in paper.get("widening", []) if len(lengths) > 1 else ():
        short, long = ([*rounds.ratios(arm, rounds.baseline, n)] for n in (lengths[0], lengths[-1]))
        shares = [rounds.flops[arm, n] / rounds.flops[rounds.baseline, n] for n in (lengths[0], lengths[-1])]
        resampled = _medians(long, "first") / _medians(short, "second")
        timed = _with_interval(float(np.median(long) / np.median(short)), resampled)
        at, statement = f"n = {lengths[0]} to {lengths[-1]}", f"{arm} gains more on longer inputs"
        yield from _both(
            f"{statement} (ours: its FLOPs say so)", at, shares[0] / shares[1], timed, noise**2, len(long)
        )


def _both(statement: str, at: str, fewer: float, timed: Median, noise: float, n: int) -> Iterator[Row]:
    named: Row = {"statement": statement, "at": at}
    counted = "supported" if fewer > 1 else "contradicted"
    yield {**named, "measure": "FLOPs", "verdict": counted, "n": None, "ratio": fewer, "low": None, "high": None}
    ratio, low, high = timed
    verdict = "supported" if low > noise else "contradicted" if high < 1 / noise else "undecided"
    yield {**named, "measure": "time", "verdict": verdict, "n": n, "ratio": ratio, "low": low, "high": high}


FLOPS = {"flops": "counted in closed form from the architecture, no measurement"}
RULES = {
    "results": Rule(("arm", "length"), results, FLOPS),
    "latency": Rule(("arm", "length"), results, FLOPS),
    "trials": Rule(("arm", "seed", "task", "metric"), trials),
    "orderings": Rule(("statement", "measure", "at"), orderings),
}
