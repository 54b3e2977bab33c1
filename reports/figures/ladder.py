"""A ladder of components, rung by rung: what each step does on top of those below, and what it costs.

ConvBERT's Table 1 is one (arXiv 2008.02496). Steps are paired by seed with the rung below.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analysis.effects import Difference
from configuration.arm import BASELINE
from foundation.schema import JsonValue
from ledger.records import ArmRow
from reports.sanitise import printable
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, table

KIND = "ladder"


@dataclass(frozen=True)
class Rung:
    """One row: an arm, and by metric its mean and its paired difference to the rung below."""

    name: str
    arm: str
    parameters: int
    train_flops: int
    n: Mapping[str, int]
    means: Mapping[str, float | None]
    steps: Mapping[str, Difference]


@dataclass(frozen=True)
class Ladder:
    """The rungs from the baseline up."""

    rungs: tuple[Rung, ...]
    metrics: tuple[tuple[Metric, int], ...]
    """Each with the decimals it is shown in."""


def ladder_of(results: Results) -> Ladder | None:
    """Return the first ladder among the designs, None where there is none or fewer than two rungs were measured."""
    metrics = [metric for metric in results.headlines if metric in results.metrics]
    for components in _ladders(results.snapshot.document.get("design")):
        arms = list(_rungs(results.arms, components))
        measured = [(name, arm) for name, arm in arms if any(results.effect(arm.name, m).n for m in metrics)]
        if len(measured) > 1 and measured[0][1].name == BASELINE:
            rungs = tuple(_rung(results, metrics, place, measured) for place in range(len(measured)))
            return Ladder(rungs, tuple((metric, results.decimals(metric)) for metric in metrics))
    return None


def ladder_table(ladder: Ladder) -> Table:
    """Return a row per rung and metric."""
    columns = "rung arm parameters train_flops metric n mean pairs delta low high"
    return table(KIND, columns, _rows(ladder))


def _rows(ladder: Ladder) -> Iterator[Row]:
    for rung in ladder.rungs:
        for metric, _ in ladder.metrics:
            step = rung.steps[metric.name]
            yield {
                "rung": rung.name,
                "arm": rung.arm,
                "parameters": rung.parameters,
                "train_flops": rung.train_flops,
                "metric": metric.name,
                "n": rung.n[metric.name],
                "mean": rung.means[metric.name],
                "pairs": step.pairs,
                **interval(step),
            }


def _ladders(design: JsonValue) -> Iterator[frozenset[str]]:
    """Yield the components of each ladder; a ledger does not keep the order in which a file names them."""
    for one in design if isinstance(design, list) else [design]:
        if isinstance(one, dict) and one.get("kind") == KIND:
            components = one.get("components")
            yield frozenset(components if isinstance(components, dict) else ())


def _rungs(arms: tuple[ArmRow, ...], components: frozenset[str]) -> Iterator[tuple[str, ArmRow]]:
    """Yield the baseline, then each rung with the component that it adds."""
    yield from ((BASELINE, arm) for arm in arms if arm.name == BASELINE)
    by_parts: dict[frozenset[str], ArmRow] = {}
    for arm in arms:
        if arm.name != BASELINE and components <= arm.levels.keys():
            by_parts.setdefault(frozenset(c for c in components if arm.levels[c] is True), arm)
    below: frozenset[str] = frozenset()
    for parts in max(_chains(below, by_parts), key=lambda chain: _likeness(chain, by_parts)):
        yield f"+ {next(iter(parts - below))}", by_parts[parts]
        below = parts


def _chains(below: frozenset[str], by_parts: Mapping[frozenset[str], ArmRow]) -> Iterator[tuple[frozenset[str], ...]]:
    """Yield every way up from some parts, one part at a time, as far as there are arms."""
    above = [parts for parts in by_parts if below < parts and len(parts) == len(below) + 1]
    if not above:
        yield ()
    for parts in above:
        yield from ((parts, *rest) for rest in _chains(parts, by_parts))


def _likeness(chain: tuple[frozenset[str], ...], by_parts: Mapping[frozenset[str], ArmRow]) -> tuple[int, int]:
    """Return how long a way is, and how many of its arms a ladder has named: other designs share arms."""
    pairs = zip((frozenset[str](), *chain), chain, strict=False)
    named = sum(by_parts[parts].name == f"+{next(iter(parts - below))}" for below, parts in pairs)
    return len(chain), named


def _rung(results: Results, metrics: list[Metric], place: int, arms: list[tuple[str, ArmRow]]) -> Rung:
    name, arm = arms[place]
    below = arms[place - 1][1].name if place else None
    return Rung(
        name=printable(name.replace("_", " ")),
        arm=printable(arm.name),
        parameters=arm.parameters,
        train_flops=arm.train_flops,
        n={metric.name: results.effect(arm.name, metric).n for metric in metrics},
        means={metric.name: results.effect(arm.name, metric).mean for metric in metrics},
        steps={
            metric.name: Difference() if below is None else results.difference(arm.name, below, metric)
            for metric in metrics
        },
    )
