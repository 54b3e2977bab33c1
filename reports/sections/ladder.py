"""Incremental ablation (a ladder): the effect and the cost of each component added on top of the previous ones.

ConvBERT's Table 1 is an example (arXiv 2008.02496). Steps are paired by seed with the rung below.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.interval_panels import draw_interval
from reports.figures.matplotlib_style import Figure, new_figure
from reports.figures.style import COLOURS, QUIET
from reports.number_format import difference_text, fixed, scientific, short
from reports.sanitise import printable
from reports.section import Section
from reports.statistics.arm_costs import costs_of
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.designs import Ladder as LadderDesign
from steeplechase.ledger.records import ArmRow

WIDTH_INCHES, ROW_INCHES, NAMES_INCHES, PARAMETERS_INCHES = 7.4, 0.44, 1.35, 1.75
NARROW_INCHES, AROUND_PANEL_INCHES = 3.9, 0.95


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


def ladder_of(evidence: Evidence) -> Ladder | None:
    """Return the first ladder of the designs; None without one or with fewer than two measured rungs."""
    results = evidence.results
    metrics = [metric for metric in results.headlines if metric in results.metrics]
    ladders = (design for design in results.experiment.designs if isinstance(design, LadderDesign))
    for components in (frozenset(ladder.components) for ladder in ladders):
        arms = list(_rungs(results.arms, components))
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


def draw(ladder: Ladder) -> Figure:
    """Return the rungs from top to bottom: a panel per metric, then parameters as bars."""
    height = ROW_INCHES * (len(ladder.rungs) + 0.4) + 1.0
    figure = new_figure(WIDTH_INCHES, height)
    metrics = len(ladder.metrics)
    left = NAMES_INCHES / WIDTH_INCHES
    widths = [(WIDTH_INCHES - NAMES_INCHES - PARAMETERS_INCHES) / metrics] * metrics + [PARAMETERS_INCHES]
    grid = figure.add_gridspec(
        1, metrics + 1, width_ratios=widths, left=left, right=0.985, top=1 - 0.55 / height, bottom=0.45 / height
    )
    for position, (metric, decimals) in enumerate(ladder.metrics):
        axes = figure.add_subplot(grid[position])
        _draw_steps(axes, ladder, metric, decimals)
        _label_rows(axes, ladder, named=position == 0)
    sizes = figure.add_subplot(grid[metrics])
    _draw_sizes(sizes, ladder)
    _label_rows(sizes, ladder, named=False)
    return figure


def draw_narrow(ladder: Ladder) -> Figure:
    """Return the panels as one column, each with the names of the rungs."""
    plot = ROW_INCHES * (len(ladder.rungs) + 0.4)
    panels = len(ladder.metrics) + 1
    height = panels * (plot + AROUND_PANEL_INCHES)
    figure = new_figure(NARROW_INCHES, height)
    for place in range(panels):
        below = (panels - 1 - place) * (plot + AROUND_PANEL_INCHES) + 0.4
        share = (NAMES_INCHES / NARROW_INCHES, below / height, 0.97 - NAMES_INCHES / NARROW_INCHES, plot / height)
        axes = figure.add_axes(share)
        if place < len(ladder.metrics):
            _draw_steps(axes, ladder, *ladder.metrics[place])
        else:
            _draw_sizes(axes, ladder)
        _label_rows(axes, ladder, named=True)
    return figure


def _label_rows(axes: Any, ladder: Ladder, named: bool) -> None:
    heights = range(len(ladder.rungs) - 1, -1, -1)
    axes.set_yticks(list(heights), [rung.name for rung in ladder.rungs] if named else [])
    axes.set_ylim(-0.55, len(ladder.rungs) - 0.35)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _draw_steps(axes: Any, ladder: Ladder, metric: Metric, decimals: int) -> None:
    better = "lower" if metric.lower_is_better else "higher"
    axes.set_title(f"Δ {metric.title} of the step,\n95% interval ({better} is better)", fontsize=9.5)
    across = axes.get_yaxis_transform()
    for height, rung in zip(range(len(ladder.rungs) - 1, -1, -1), ladder.rungs, strict=True):
        mean, step = rung.means[metric.name], rung.steps[metric.name]
        if step.delta is None:
            label = "not measured" if mean is None else f"{fixed(mean, decimals)} (n = {rung.n[metric.name]})"
            axes.text(0.5, height, label, transform=across, ha="center", va="center", fontsize=8.5, color=QUIET)
            continue
        axes.plot([0, 0], [height - 0.17, height + 0.3], color=QUIET, linewidth=0.9, zorder=0)  # not through the text
        axes.text(
            0.5,
            height - 0.36,
            difference_text(step, decimals),
            transform=across,
            ha="center",
            va="center",
            fontsize=7.5,
        )
        if step.low is not None:
            draw_interval(axes, height, metric, step)
        else:
            axes.plot([step.delta], [height], marker="o", markerfacecolor="none", color=QUIET)
    axes.margins(x=0.12)
    axes.locator_params(axis="x", nbins=4)


def _draw_sizes(axes: Any, ladder: Ladder) -> None:
    axes.set_title("parameters\n(train FLOPs)", fontsize=9.5)
    most = max(rung.parameters for rung in ladder.rungs)
    for height_of_row, rung in zip(range(len(ladder.rungs) - 1, -1, -1), ladder.rungs, strict=True):
        axes.barh(height_of_row, rung.parameters, height=0.34, color=COLOURS[6], linewidth=0)
        size = f"{short(rung.parameters)} ({scientific(rung.train_flops)})"
        axes.text(0, height_of_row - 0.36, size, va="center", fontsize=7.5)
    axes.set_xlim(0, most * 1.04)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)


FIGURE = ReportFigure(
    "ladder",
    lambda ladder: "Effect of each step",
    ladder_of,
    lambda ladder: Table.of("ladder", _rows(ladder)),
    draw,
    draw_narrow,
)
SECTION: Section[Evidence] = Section("ladder", figure=FIGURE)
