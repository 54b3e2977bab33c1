"""Attention maps by arm and layer, relative to uniform attention; darker is more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10
from statistics import fmean
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, new_figure
from reports.figures.style import QUIET
from reports.sanitise import printable
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.table import Row, Table, table
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import ATTENTION_DIAGONAL
from steeplechase.ledger.stage_results import ALL, AttentionResult, Cells

MOST_ARMS, MOST_LAYERS = 4, 6
DIAGONAL = Metric(ATTENTION_DIAGONAL)
WIDTH_INCHES, NAME_INCHES, GAP_INCHES, LEGEND_INCHES = 7.4, 1.15, 0.14, 0.85
HEAD_INCHES, FOOT_INCHES, UNDER_INCHES = 0.62, 0.24, 0.26
LARGEST_INCHES = 1.55
LEAST, MOST = 0.2, 5.0
"""Ends of the scale in multiples of uniform attention; values beyond are clipped."""


@dataclass(frozen=True)
class ArmMaps:
    """One arm's mean maps over n seeds by layer, with each layer's C."""

    arm: str
    n: int
    maps: tuple[Cells, ...]
    concentrations: tuple[float | None, ...]


@dataclass(frozen=True)
class AttentionMaps:
    """The mean maps of some arms for sequences of the same length."""

    length: int
    within: int
    layers: tuple[int, ...]
    """The layers drawn, counted from 1."""
    arms: tuple[ArmMaps, ...]


def attention_maps_of(evidence: Evidence) -> AttentionMaps | None:
    """Return the maps of the baseline and of the arms whose C differs most from it; None without maps."""
    results = evidence.results
    measured = [(arm, list(by_seed.values())) for arm, by_seed in results.attention.items()]
    measured = [
        (arm, measurements)
        for arm, measurements in measured
        if all(measurement.finite_maps for measurement in measurements)
    ]
    if not measured:
        return None
    first_measurement = measured[0][1][0]
    same_length = [
        (arm, measurements)
        for arm, measurements in measured
        if all(measurement.length == first_measurement.length for measurement in measurements)
    ]
    deltas = {arm: results.effect(arm, DIAGONAL).difference.delta for arm, _ in same_length}
    largest_differences = sorted(same_length, key=lambda item: (item[0] != BASELINE, -abs(deltas[item[0]] or 0.0)))[
        :MOST_ARMS
    ]
    selected = [item for item in same_length if item in largest_differences]
    depth = min(len(measurement.finite_maps) for _, measurements in selected for measurement in measurements)
    steps = min(depth, MOST_LAYERS)
    layers = [round(step * (depth - 1) / max(1, steps - 1)) for step in range(steps)]
    arms = tuple(_arm_maps(arm, measurements, layers) for arm, measurements in selected)
    return AttentionMaps(
        first_measurement.length, first_measurement.within, tuple(layer + 1 for layer in layers), arms
    )


def maps_table(maps: AttentionMaps) -> Table:
    """Return one row per row of a map, its cells as one text in percent of uniform attention."""
    return table("attention", "arm n layer query weights", _map_rows(maps))


def _map_rows(maps: AttentionMaps) -> Iterator[Row]:
    for arm_maps in maps.arms:
        for layer, attention_map in zip(maps.layers, arm_maps.maps, strict=True):
            for query, cells in enumerate(attention_map, 1):
                weights = " ".join(f"{weight:.6g}" for weight in cells)
                yield {"arm": arm_maps.arm, "n": arm_maps.n, "layer": layer, "query": query, "weights": weights}


def _arm_maps(arm: str, measurements: Sequence[AttentionResult], layers: Sequence[int]) -> ArmMaps:
    maps = tuple(_mean_map([measurement.finite_maps[layer] for measurement in measurements]) for layer in layers)
    values = [[measurement.concentration(ALL, layer) for measurement in measurements] for layer in layers]
    by_layer = ([value for value in layer_values if value is not None] for layer_values in values)
    return ArmMaps(
        printable(arm), len(measurements), maps, tuple(fmean(measured) if measured else None for measured in by_layer)
    )


def _mean_map(maps: Sequence[Cells]) -> Cells:
    return tuple(
        tuple(fmean(attention_map[row][column] for attention_map in maps) for column in range(len(maps[0][row])))
        for row in range(len(maps[0]))
    )


def draw(maps: AttentionMaps) -> Figure:
    """Return the maps on one logarithmic grey scale, independent of colour vision.

    The longer of arms and layers is the horizontal dimension.
    """
    arms, layers = (
        [f"{arm_maps.arm}\n(n = {arm_maps.n})" for arm_maps in maps.arms],
        [f"layer {layer}" for layer in maps.layers],
    )
    across = len(layers) >= len(arms)
    columns, rows = (layers, arms) if across else (arms, layers)
    room = WIDTH_INCHES - NAME_INCHES - LEGEND_INCHES
    map_side = min(LARGEST_INCHES, room / len(columns) - GAP_INCHES)
    height = HEAD_INCHES + len(rows) * (map_side + UNDER_INCHES) + FOOT_INCHES
    figure = new_figure(WIDTH_INCHES, height)
    shade = None
    for row, row_name in enumerate(rows):
        for column, column_name in enumerate(columns):
            left = NAME_INCHES + column * (map_side + GAP_INCHES)
            bottom = height - HEAD_INCHES - row * (map_side + UNDER_INCHES) - map_side
            axes = figure.add_axes((left / WIDTH_INCHES, bottom / height, map_side / WIDTH_INCHES, map_side / height))
            arm, layer = (row, column) if across else (column, row)
            shade = _draw_map(axes, maps.arms[arm], layer)
            if row == 0:
                axes.set_title(column_name, loc="center", fontsize=8.5, pad=4)
            if column == 0:
                axes.set_ylabel(row_name, rotation=0, ha="right", va="center", fontsize=8.5)
    right = NAME_INCHES + len(columns) * (map_side + GAP_INCHES) + 0.06
    _draw_scale(figure, shade, right, height)
    title = f"Attention of tokens (rows) to tokens (columns): mean over heads and seeds, {maps.length} tokens"
    figure.text(0.1 / WIDTH_INCHES, 1 - 0.15 / height, title, fontsize=10, va="center")
    note = f"C of the layer: attention mass within {maps.within} tokens / mass beyond"
    figure.text(0.1 / WIDTH_INCHES, 0.13 / height, note, fontsize=8.5, color=QUIET, va="center")
    return figure


def _draw_map(axes: Any, arm: ArmMaps, layer: int) -> Any:
    times = [[log10(min(MOST, max(LEAST, weight / 100))) for weight in row] for row in arm.maps[layer]]
    shade = axes.imshow(times, cmap="Greys", vmin=log10(LEAST), vmax=log10(MOST), interpolation="none")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
    concentration = arm.concentrations[layer]
    if concentration is not None:
        axes.set_xlabel(f"C = {concentration:.3g}", fontsize=8, labelpad=2)
    return shade


def _draw_scale(figure: Figure, shade: Any, left: float, height: float) -> None:
    bar_height = min(1.2, height - HEAD_INCHES - FOOT_INCHES - UNDER_INCHES)
    bottom = height - HEAD_INCHES - bar_height
    axes = figure.add_axes((left / WIDTH_INCHES, bottom / height, 0.1 / WIDTH_INCHES, bar_height / height))
    bar = figure.colorbar(shade, cax=axes, ticks=[log10(LEAST), 0.0, log10(MOST)])
    bar.ax.set_yticklabels(["≤ 0.2×", "uniform", "≥ 5×"], fontsize=8)
    bar.ax.tick_params(length=2)
    bar.outline.set_linewidth(0.5)


FIGURE = ReportFigure("attention", lambda maps: "Attention maps", attention_maps_of, maps_table, draw)
