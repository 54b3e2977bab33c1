"""Attention maps: by arm and layer, darker where more is attended than if attention were spread evenly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10
from statistics import fmean
from typing import Any

from configuration.arm import BASELINE
from configuration.metrics import ATTENTION_DIAGONAL
from ledger.attention_locality import ALL, Attention, Cells
from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, new_figure
from reports.figures.style import QUIET
from reports.sanitise import printable
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.table import Row, Table, table

MOST_ARMS, MOST_LAYERS = 4, 6
DIAGONAL = Metric(ATTENTION_DIAGONAL)
WIDTH_INCHES, NAME_INCHES, GAP_INCHES, LEGEND_INCHES = 7.4, 1.15, 0.14, 0.85
HEAD_INCHES, FOOT_INCHES, UNDER_INCHES = 0.62, 0.24, 0.26
LARGEST_INCHES = 1.55
LEAST, MOST = 0.2, 5.0
"""Times even attention; what is below or above is drawn as the end of the scale."""


@dataclass(frozen=True)
class ArmMaps:
    """One arm's mean maps over n seeds by layer, with C of each layer."""

    arm: str
    n: int
    maps: tuple[Cells, ...]
    concentrations: tuple[float | None, ...]


@dataclass(frozen=True)
class AttentionMaps:
    """The mean maps of some arms, all of sequences of one length."""

    length: int
    within: int
    layers: tuple[int, ...]
    """Which layers are shown, counted from 1."""
    arms: tuple[ArmMaps, ...]


def attention_maps_of(evidence: Evidence) -> AttentionMaps | None:
    """Return the maps of the baseline and of those whose C differs most from its, None where there are none."""
    results = evidence.results
    measured = [(arm, list(by_seed.values())) for arm, by_seed in results.attention.items()]
    measured = [(arm, found) for arm, found in measured if all(one.maps for one in found)]
    if not measured:
        return None
    first = measured[0][1][0]
    same = [(arm, found) for arm, found in measured if all(one.length == first.length for one in found)]
    deltas = {arm: results.effect(arm, DIAGONAL).difference.delta for arm, _ in same}
    furthest = sorted(same, key=lambda each: (each[0] != BASELINE, -abs(deltas[each[0]] or 0.0)))[:MOST_ARMS]
    chosen = [each for each in same if each in furthest]
    depth = min(len(one.maps) for _, found in chosen for one in found)
    steps = min(depth, MOST_LAYERS)
    shown = [round(place * (depth - 1) / max(1, steps - 1)) for place in range(steps)]
    arms = tuple(_arm_maps(arm, found, shown) for arm, found in chosen)
    return AttentionMaps(first.length, first.within, tuple(layer + 1 for layer in shown), arms)


def maps_table(maps: AttentionMaps) -> Table:
    """Return a row per row of a map, its cells as one text: 100 is even attention."""
    return table("attention", "arm n layer query weights", _map_rows(maps))


def _map_rows(maps: AttentionMaps) -> Iterator[Row]:
    for one in maps.arms:
        for layer, whole in zip(maps.layers, one.maps, strict=True):
            for query, cells in enumerate(whole, 1):
                shown = " ".join(f"{weight:.6g}" for weight in cells)
                yield {"arm": one.arm, "n": one.n, "layer": layer, "query": query, "weights": shown}


def _arm_maps(arm: str, found: Sequence[Attention], layers: Sequence[int]) -> ArmMaps:
    maps = tuple(_mean_map([one.maps[layer] for one in found]) for layer in layers)
    values = [[one.concentration(ALL, layer) for one in found] for layer in layers]
    known = ([value for value in of_layer if value is not None] for of_layer in values)
    return ArmMaps(printable(arm), len(found), maps, tuple(fmean(each) if each else None for each in known))


def _mean_map(maps: Sequence[Cells]) -> Cells:
    return tuple(
        tuple(fmean(each[row][column] for each in maps) for column in range(len(maps[0][row])))
        for row in range(len(maps[0]))
    )


def draw(maps: AttentionMaps) -> Figure:
    """Return the maps on one logarithmic scale in grey, so that print and every eye see the same.

    The longer of arms and layers runs across.
    """
    arms, layers = [f"{one.arm}\n(n = {one.n})" for one in maps.arms], [f"layer {layer}" for layer in maps.layers]
    across = len(layers) >= len(arms)
    columns, rows = (layers, arms) if across else (arms, layers)
    room = WIDTH_INCHES - NAME_INCHES - LEGEND_INCHES
    side = min(LARGEST_INCHES, room / len(columns) - GAP_INCHES)
    height = HEAD_INCHES + len(rows) * (side + UNDER_INCHES) + FOOT_INCHES
    figure = new_figure(WIDTH_INCHES, height)
    shade = None
    for row, row_name in enumerate(rows):
        for column, column_name in enumerate(columns):
            left = NAME_INCHES + column * (side + GAP_INCHES)
            bottom = height - HEAD_INCHES - row * (side + UNDER_INCHES) - side
            axes = figure.add_axes((left / WIDTH_INCHES, bottom / height, side / WIDTH_INCHES, side / height))
            arm, layer = (row, column) if across else (column, row)
            shade = _draw_map(axes, maps.arms[arm], layer)
            if row == 0:
                axes.set_title(column_name, loc="center", fontsize=8.5, pad=4)
            if column == 0:
                axes.set_ylabel(row_name, rotation=0, ha="right", va="center", fontsize=8.5)
    right = NAME_INCHES + len(columns) * (side + GAP_INCHES) + 0.06
    _draw_scale(figure, shade, right, height)
    title = f"Where a token (row) looks (column): mean over heads and seeds, held-out text, {maps.length} tokens"
    figure.text(0.1 / WIDTH_INCHES, 1 - 0.15 / height, title, fontsize=10, va="center")
    note = f"C: attention mass within {maps.within} tokens over mass beyond, of the layer"
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
    long = min(1.2, height - HEAD_INCHES - FOOT_INCHES - UNDER_INCHES)
    bottom = height - HEAD_INCHES - long
    axes = figure.add_axes((left / WIDTH_INCHES, bottom / height, 0.1 / WIDTH_INCHES, long / height))
    bar = figure.colorbar(shade, cax=axes, ticks=[log10(LEAST), 0.0, log10(MOST)])
    bar.ax.set_yticklabels(["≤ 0.2×", "even", "≥ 5×"], fontsize=8)
    bar.ax.tick_params(length=2)
    bar.outline.set_linewidth(0.5)


FIGURE = ReportFigure("attention", lambda maps: "Where tokens look", attention_maps_of, maps_table, draw)
