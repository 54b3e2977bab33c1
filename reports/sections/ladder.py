"""Incremental ablation (a ladder): the effect and the cost of each component added on top of the previous ones.

ConvBERT's Table 1 is an example (arXiv 2008.02496). A step is the difference from the rung below.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reports.figures.figure import ReportFigure
from reports.figures.interval_panels import Line, Panel, draw
from reports.number_format import difference_text, short
from reports.section import Section
from reports.statistics.arm_costs import costs_of
from reports.statistics.crossed import identity_of
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, printable
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.designs import Ladder as LadderDesign
from steeplechase.ledger.records import ArmRow


@dataclass(frozen=True)
class Rung:
    """A row: an arm with its mean and its paired difference to the rung below, by metric."""

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
    """Metrics with their number of decimals."""


def _panels(ladder: Ladder) -> Iterator[Panel]:
    """Yield the steps on each metric, with the parameters of each rung."""
    for metric, decimals in ladder.metrics:
        steps = [(rung, rung.steps[metric.name]) for rung in ladder.rungs]
        texts = (f"{difference_text(step, decimals)}  {short(rung.parameters)} parameters" for rung, step in steps)
        lines = tuple(Line(rung.name, step, text) for (rung, step), text in zip(steps, texts, strict=True))
        yield Panel(f"Δ {metric.title} of the step", metric, lines)


def ladder_of(results: Results) -> Ladder | None:
    """Return the first ladder of the designs; None without one or with fewer than two measured rungs."""
    metrics = [metric for metric in results.headlines if metric in results.metrics]
    ladders = (design for design in results.experiment.designs if isinstance(design, LadderDesign))
    for ladder in ladders:
        arms = list(_rungs(results, ladder))
        measured = [(name, arm) for name, arm in arms if any(results.effect(arm.name, m).n for m in metrics)]
        if len(measured) > 1 and measured[0][1].name == BASELINE:
            rungs = tuple(_rung(results, metrics, position, measured) for position in range(len(measured)))
            return Ladder(rungs, tuple((metric, results.decimals(metric)) for metric in metrics))
    return None


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
                "pairs": step.n,
                **interval(step),
            }


def _rungs(results: Results, ladder: LadderDesign) -> Iterator[tuple[str, ArmRow]]:
    """Yield the baseline, then each rung with the component that it adds."""
    yield from ((BASELINE, arm) for arm in results.arms if arm.name == BASELINE)
    by_parts: dict[frozenset[str], ArmRow] = {}
    for arm in results.arms:
        if arm.name != BASELINE and ladder.components.keys() <= arm.levels.keys():
            parts = frozenset(component for component in ladder.components if arm.levels[component] is True)
            if arm.identity == identity_of(results, ladder.together((*parts,))):  # else another design names it so
                by_parts.setdefault(parts, arm)
    below: frozenset[str] = frozenset()
    for parts in max(_chains(below, by_parts), key=lambda chain: _likeness(chain, by_parts)):
        yield f"+ {next(iter(parts - below))}", by_parts[parts]
        below = parts


def _chains(below: frozenset[str], by_parts: Mapping[frozenset[str], ArmRow]) -> Iterator[tuple[frozenset[str], ...]]:
    """Yield every chain of arms that starts above these components and adds one component per step."""
    above = [parts for parts in by_parts if below < parts and len(parts) == len(below) + 1]
    if not above:
        yield ()
    for parts in above:
        yield from ((parts, *chain) for chain in _chains(parts, by_parts))


def _likeness(chain: tuple[frozenset[str], ...], by_parts: Mapping[frozenset[str], ArmRow]) -> tuple[int, int]:
    """Return a chain's length and its number of arms named by a ladder; other designs can share arms."""
    pairs = zip((frozenset[str](), *chain), chain, strict=False)
    named = sum(by_parts[parts].name == f"+{next(iter(parts - below))}" for below, parts in pairs)
    return len(chain), named


def _rung(results: Results, metrics: list[Metric], position: int, arms: list[tuple[str, ArmRow]]) -> Rung:
    name, arm = arms[position]
    costs = costs_of(results, arm)
    below = arms[position - 1][1].name if position else None
    return Rung(
        name=printable(name.replace("_", " ")),
        arm=printable(arm.name),
        parameters=costs.parameters,
        train_flops=costs.train_flops,
        n={metric.name: results.effect(arm.name, metric).n for metric in metrics},
        means={metric.name: results.effect(arm.name, metric).mean for metric in metrics},
        steps={
            metric.name: Difference() if below is None else results.difference(arm.name, below, metric)
            for metric in metrics
        },
    )


FIGURE = ReportFigure(
    "ladder",
    lambda ladder: "Effect of each step",
    ladder_of,
    lambda ladder: Table.of("ladder", _rows(ladder)),
    lambda ladder: draw([*_panels(ladder)]),
)
SECTION = Section("ladder", figure=FIGURE)
