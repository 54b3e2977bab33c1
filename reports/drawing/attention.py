"""Attention maps, drawn: a row per arm, a column per layer, darker where more is attended than evenly spread."""

from math import log10
from typing import Any

from reports.attention import ArmMaps, AttentionMaps
from reports.drawing.door import Figure, new_figure
from reports.style import INK, QUIET

WIDTH_INCHES, NAME_INCHES, GAP_INCHES, LEGEND_INCHES = 7.4, 1.2, 0.12, 0.75
LARGEST_INCHES = 1.6
LEAST, MOST = 0.1, 10.0
"""Times even attention; what is below or above is drawn as the end of the scale."""


def draw(maps: AttentionMaps) -> Figure:
    """Return the maps on one logarithmic scale in grey, so that print and every eye see the same."""
    columns, rows = len(maps.layers), len(maps.arms)
    side = min(LARGEST_INCHES, (WIDTH_INCHES - NAME_INCHES - LEGEND_INCHES) / columns - GAP_INCHES)
    height = rows * (side + 0.3) + 0.75
    figure = new_figure(NAME_INCHES + columns * (side + GAP_INCHES) + LEGEND_INCHES, height)
    width = figure.get_figwidth()
    shade = None
    for row, arm in enumerate(maps.arms):
        for column, layer in enumerate(maps.layers):
            left = (NAME_INCHES + column * (side + GAP_INCHES)) / width
            bottom = 1 - (0.5 + (row + 1) * (side + 0.3) - 0.22) / height
            axes = figure.add_axes((left, bottom, side / width, side / height))
            shade = _draw_map(axes, arm, column)
            if row == 0:
                axes.set_title(f"layer {layer}", loc="center", fontsize=9, pad=4)
            if column == 0:
                axes.set_ylabel(f"{arm.arm}\n(n = {arm.n})", rotation=0, ha="right", va="center", fontsize=9)
    _draw_scale(figure, shade, (width, height))
    title = f"Where a token (row) looks (column): mean over heads, held-out text, {maps.length} tokens"
    figure.text(0.12 / width, 1 - 0.18 / height, title, fontsize=10.5, va="center")
    note = f"C: mass within {maps.within} tokens over mass beyond"
    figure.text(0.12 / width, 0.14 / height, note, fontsize=8.5, color=QUIET, va="center")
    return figure


def _draw_map(axes: Any, arm: ArmMaps, column: int) -> Any:
    times = [[log10(min(MOST, max(LEAST, weight / 100))) for weight in row] for row in arm.maps[column]]
    shade = axes.imshow(times, cmap="Greys", vmin=log10(LEAST), vmax=log10(MOST), interpolation="none")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
    concentration = arm.concentrations[column]
    if concentration is not None:
        axes.set_xlabel(f"C = {concentration:.3g}", fontsize=8, labelpad=2, color=INK)
    return shade


def _draw_scale(figure: Figure, shade: Any, size: tuple[float, float]) -> None:
    width, height = size
    axes = figure.add_axes((1 - 0.58 / width, 0.5 - 0.6 / height, 0.1 / width, 1.2 / height))
    ends = [log10(LEAST), 0.0, log10(MOST)]
    bar = figure.colorbar(shade, cax=axes, ticks=ends)
    bar.ax.set_yticklabels(["≤ 0.1", "even", "≥ 10×"], fontsize=8)
    bar.ax.tick_params(length=2)
    bar.outline.set_linewidth(0.5)
