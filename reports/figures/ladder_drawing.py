"""A ladder, drawn: what each step does to each metric with its interval, and the parameters beside it."""

from typing import Any

from reports.figures.forest import draw_interval
from reports.figures.ladder import Ladder
from reports.figures.matplotlib_style import Figure, new_figure
from reports.figures.style import COLOURS, QUIET
from reports.number_format import difference_text, fixed, scientific, short
from reports.statistics.metrics import Metric

WIDTH_INCHES, ROW_INCHES, NAMES_INCHES, PARAMETERS_INCHES = 7.4, 0.44, 1.35, 1.75


def draw(ladder: Ladder) -> Figure:
    """Return the rungs from the top down: a panel per metric, then parameters as bars."""
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
        _rows(axes, ladder, named=position == 0)
    sizes = figure.add_subplot(grid[metrics])
    _draw_sizes(sizes, ladder)
    _rows(sizes, ladder, named=False)
    return figure


def _rows(axes: Any, ladder: Ladder, named: bool) -> None:
    places = range(len(ladder.rungs) - 1, -1, -1)
    axes.set_yticks(list(places), [rung.name for rung in ladder.rungs] if named else [])
    axes.set_ylim(-0.55, len(ladder.rungs) - 0.35)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _draw_steps(axes: Any, ladder: Ladder, metric: Metric, decimals: int) -> None:
    better = "lower" if metric.lower_is_better else "higher"
    axes.set_title(f"Δ {metric.title} of the step,\n95% interval ({better} is better)", fontsize=9.5)
    across = axes.get_yaxis_transform()
    for place, rung in zip(range(len(ladder.rungs) - 1, -1, -1), ladder.rungs, strict=True):
        mean, step = rung.means[metric.name], rung.steps[metric.name]
        if step.delta is None:
            shown = "not measured" if mean is None else f"{fixed(mean, decimals)} (n = {rung.n[metric.name]})"
            axes.text(0.5, place, shown, transform=across, ha="center", va="center", fontsize=8.5, color=QUIET)
            continue
        axes.plot([0, 0], [place - 0.17, place + 0.3], color=QUIET, linewidth=0.9, zorder=0)  # not through the text
        axes.text(
            0.5,
            place - 0.36,
            difference_text(step, decimals),
            transform=across,
            ha="center",
            va="center",
            fontsize=7.5,
        )
        if step.low is not None:
            draw_interval(axes, place, metric, step)
        else:
            axes.plot([step.delta], [place], marker="o", markerfacecolor="none", color=QUIET)
    axes.margins(x=0.12)
    axes.locator_params(axis="x", nbins=4)


def _draw_sizes(axes: Any, ladder: Ladder) -> None:
    axes.set_title("parameters\n(train FLOPs)", fontsize=9.5)
    most = max(rung.parameters for rung in ladder.rungs)
    for place, rung in zip(range(len(ladder.rungs) - 1, -1, -1), ladder.rungs, strict=True):
        axes.barh(place, rung.parameters, height=0.34, color=COLOURS[6], linewidth=0)
        told = f"{short(rung.parameters)} ({scientific(rung.train_flops)})"
        axes.text(0, place - 0.36, told, va="center", fontsize=7.5)
    axes.set_xlim(0, most * 1.04)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
