"""The audit of the hurdles: how often a stop was wrong, how value and end agree in rank, and what the stops cost.

A stop was wrong where the trial, trained on to the end, ended better than the median survivor. The audited trials
represent all that were stopped at their hurdle, and are weighted so. Those whose values set a hurdle stop there
unjudged and have a row of their own. Ends at several seeds are compared less what the baseline shows a seed to add.
Intervals: Wilson 1927 for shares, the stratified bootstrap (Efron 1979) for Kendall's rank correlation; 95% both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

from analysis.proportions import wilson
from configuration.arm import BASELINE
from configuration.stage_label import pretraining_marks
from foundation.schema import JsonValue
from ledger.metrics import final_loss
from ledger.records import TrialStatus, final_loss_of
from ledger.snapshot import TrialHistory
from reports.grid import Column, Grid, grid
from reports.number_format import NOTHING, fixed
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number, table

COLUMNS = "hurdle stopped audited wrong share low high beat_worst correlation tau_low tau_high n regret"
DRAWS, LEAST_FOR_INTERVAL = 1000, 4
ALL = "all"


class Stop(NamedTuple):
    """At which hurdle a trial was stopped, counted from 0."""

    level: int
    sets: bool = False
    """Whether there was no bar yet: the trial is one of those whose values set it, and was not judged."""

    @property
    def name(self) -> int | str:
        """The hurdle as a table shows it."""
        return f"{self.level + 1}, set here" if self.sets else self.level + 1


@dataclass(frozen=True)
class Ending:
    """A trial that was trained to the end, smaller values being better throughout."""

    values: tuple[float | None, ...]
    """What it brought to each hurdle it was judged at."""
    final: float
    """Held-out loss at the end less what the seed adds to the baseline's; infinite where it diverged on the way."""
    measured: float
    """Held-out loss at the end as it was measured."""
    stopped_at: Stop | None = None


def audit_table(results: Results) -> Table:
    """Return a row per hurdle that stopped a trial and one for all; no rows where no trial was audited."""
    return table("audit", COLUMNS, _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    endings = tuple(one for _, one in _endings(results))
    if not any(one.stopped_at is not None for one in endings):
        return
    stops = [stop for one in _judged(results) if (stop := _stop_of(one)) is not None]
    for stop in sorted(set(stops)):
        yield _row(stop.name, [stop], stops, endings)
    yield _row(ALL, sorted(set(stops)), stops, endings)


def _judged(results: Results) -> Iterator[TrialHistory]:
    return (history for history in results.snapshot.histories if history.trial.arm != BASELINE)


def _stop_of(history: TrialHistory) -> Stop | None:
    if history.status is not TrialStatus.STOPPED or (decision := history.stopped_by) is None:
        return None
    return Stop(decision.level, decision.threshold is None and decision.value is not None)


def _endings(results: Results) -> Iterator[tuple[str, Ending]]:
    """Yield every trial that was trained to the end by its name."""
    sign = -1.0 if results.experiment.pretraining.hurdle.probe else 1.0
    last = next(reversed(pretraining_marks(results.snapshot.labels)), None)
    added = _added_by_seed(results)
    for history in _judged(results):
        values = tuple(None if one.value is None else sign * one.value for one in history.decisions)
        final, stop = None, None
        if history.status is TrialStatus.FINISHED:
            final = final_loss(history, results.snapshot.labels)
        elif history.audit and (stop := _stop_of(history)) is not None:
            diverged = any(record.status.value == "diverged" for record in history.audit)
            ends = [final_loss_of(record) for record in history.audit if record.label == last]
            final = float("inf") if diverged else ends[-1] if ends else None
        if final is not None:
            less = added.get(history.trial.seed, 0.0)
            yield history.trial.name, Ending(values, final - less, final, stop)


def _added_by_seed(results: Results) -> dict[int, float]:
    """Return by how much the baseline's loss at the end is above its mean, by seed; a seed without it has none."""
    ends = {
        history.trial.seed: final
        for history in results.trials.get(BASELINE, ())
        if history.status is TrialStatus.FINISHED
        and (final := final_loss(history, results.snapshot.labels)) is not None
    }
    return {seed: final - fmean(ends.values()) for seed, final in ends.items()}


def better_than_survivors(results: Results) -> tuple[tuple[str, Ending], ...]:
    """Return the audited trials that ended better than every survivor, the best first."""
    endings = tuple(_endings(results))
    survivors = [one.final for _, one in endings if one.stopped_at is None]
    found = (
        each for each in endings if each[1].stopped_at is not None and survivors and each[1].final < min(survivors)
    )
    return tuple(sorted(found, key=lambda each: (each[1].final, each[0])))


def _row(name: int | str, here: list[Stop], stops: list[Stop], endings: tuple[Ending, ...]) -> Row:
    audited = [one for one in endings if one.stopped_at in here]
    survivors = sorted(one.final for one in endings if one.stopped_at is None)
    known = bool(survivors and audited)
    wrong = sum(one.final < median(survivors) for one in audited) if known else None
    low, high = (None, None) if wrong is None else interval_of_share(wrong, len(audited))
    best = min((one.final for one in audited), default=float("inf"))
    first = len(here) == 1 and not (here[0].sets and Stop(here[0].level) in stops)  # of the rows of one hurdle
    tau, tau_low, tau_high, n = _agreement(here[0].level, stops, endings) if first else (None, None, None, 0)
    return {
        "hurdle": name,
        "stopped": sum(stop in here for stop in stops),
        "audited": len(audited),
        "wrong": wrong,
        "share": None if wrong is None else wrong / len(audited),
        "low": low,
        "high": high,
        "beat_worst": sum(one.final < survivors[-1] for one in audited) if known else None,
        "correlation": tau,
        "tau_low": tau_low,
        "tau_high": tau_high,
        "n": n,
        "regret": max(0.0, survivors[0] - best) if known else None,
    }


def interval_of_share(hits: int, trials: int) -> tuple[float | None, float | None]:
    """Return the 95% interval of a share, None where there is nothing to share."""
    return wilson(hits, trials) if trials else (None, None)


def _agreement(
    level: int, stops: list[Stop], endings: tuple[Ending, ...]
) -> tuple[float | None, float | None, float | None, int]:
    """Return Kendall's tau of the values at a hurdle and the ends, its interval, and over how many trials."""
    known = [(one, value) for one in endings if len(one.values) > level and (value := one.values[level]) is not None]
    audited = [one.stopped_at.level for one in endings if one.stopped_at is not None]
    levels = [stop.level for stop in stops]
    weights = [
        1.0 if one.stopped_at is None else levels.count(one.stopped_at.level) / audited.count(one.stopped_at.level)
        for one, _ in known
    ]
    pairs = [(value, one.final) for one, value in known]
    strata = [int(one.stopped_at is not None) for one, _ in known]
    return (*weighted_tau(pairs, weights, strata), len(known))


def weighted_tau(
    pairs: Sequence[tuple[float, float]], weights: Sequence[float], strata: Sequence[int]
) -> tuple[float | None, float | None, float | None]:
    """Return the share of concordant less that of discordant pairs of trials, weighted, with its 95% interval.

    A pair that is level on either side counts for neither. None where no pair differs, no interval below
    four trials or with one of a kind.
    """
    import numpy as np

    if len(pairs) < 2:
        return None, None, None
    values, finals = np.array(pairs).T
    higher = [(side[:, None] > side).astype(int) - (side[:, None] < side).astype(int) for side in (values, finals)]
    agree = (higher[0] * higher[1]).astype(float)
    chance, groups = np.random.default_rng(0), np.array(strata)
    members = [np.flatnonzero(groups == stratum) for stratum in np.unique(groups)]

    def tau(weight: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
        pairs_apart = weight @ np.abs(agree) @ weight
        return float(weight @ agree @ weight / pairs_apart) if pairs_apart else float("nan")

    known = np.array(weights)
    found = tau(known)
    if not np.isfinite(found):
        return None, None, None
    if len(pairs) < LEAST_FOR_INTERVAL or min(map(len, members)) < 2:  # one alone is drawn again and again
        return found, None, None
    drawn = []
    for _ in range(DRAWS):
        chosen = np.concatenate([chance.choice(group, len(group)) for group in members])
        drawn.append(tau(np.bincount(chosen, minlength=len(pairs)) * known))
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return found, float(low), float(high)


def audit_sentence(results: Results) -> str:
    """Return what the audit found, empty where no trial was audited."""
    rows = audit_table(results).rows
    if not rows:
        return ""
    whole = rows[-1]
    counted = f"The audit trained {whole['audited']} of {whole['stopped']} stopped candidates to the end"
    if whole["wrong"] is None:
        return f"{counted}, but nobody came through to compare them with."
    share = " to ".join(fixed(100 * (number(whole[side]) or 0.0), 0) for side in ("low", "high"))
    wrong = f"{whole['wrong']} ended better than the median survivor (95%: {share} of 100 stops wrong)"
    first = rows[0]
    hurdle = str(first["hurdle"]).partition(",")[0]
    ranks = f"; rank correlation of loss at hurdle {hurdle} and at the end {_interval(first)}"
    agreed = ranks if first["correlation"] is not None else ""
    return f"{counted}: {wrong}{agreed}; regret {fixed(number(whole['regret']) or 0.0, 4)} nats."


def audit_grid(rows: Table) -> Iterator[Grid]:
    """Yield the audit as people read it."""

    def cells(row: Row) -> list[str]:
        share = (
            NOTHING if row["share"] is None else f"{_text(row['share'])} [{_text(row['low'])}, {_text(row['high'])}]"
        )
        counts = [str(row[name]) for name in ("stopped", "audited")]
        wrong = [NOTHING if row[name] is None else str(row[name]) for name in ("wrong", "beat_worst")]
        tau = NOTHING if row["correlation"] is None else f"{_interval(row)}"
        return [str(row["hurdle"]), *counts, *wrong, share, tau, _text(row["regret"], 4)]

    columns = [
        Column("hurdle", numeric=False),
        Column("stopped"),
        Column("audited"),
        Column("the median", "ended better than, of survivors,"),
        Column("the worst", "ended better than, of survivors,"),
        Column("wrong stops [95%]"),
        Column("τ hurdle, end [95%] (n)"),
        Column("regret, nats"),
    ]
    yield grid(
        rows.name, "The hurdles, audited: some of the stopped trained to the end", columns, map(cells, rows.rows)
    )


def _interval(row: Row) -> str:
    known = row["tau_low"] is not None
    bounds = f"[{_text(row['tau_low'])}, {_text(row['tau_high'])}]" if known else "[?]"
    return f"{_text(row['correlation'])} {bounds} (n = {row['n']})"


def _text(value: JsonValue, decimals: int = 2) -> str:
    return fixed(value, decimals) if isinstance(value, int | float) else NOTHING


def _content(evidence: Evidence) -> Content:
    rates = audit_table(evidence.results)
    return Content(with_rows(rates), tuple(audit_grid(rates)) if rates.rows else ())


SECTION = Section("audit", _content, lambda evidence: evidence.results.is_search)
