"""Attention maps, drawn: by arm and layer, darker where more is attended than if attention were spread evenly."""

from math import log10
from typing import Any

from reports.figures.matplotlib_style import Figure, new_figure
from reports.figures.style import QUIET
from reports.sections.attention import ArmMaps, AttentionMaps

WIDTH_INCHES, NAME_INCHES, GAP_INCHES, LEGEND_INCHES = 7.4, 1.15, 0.14, 0.85
HEAD_INCHES, FOOT_INCHES, UNDER_INCHES = 0.62, 0.24, 0.26
LARGEST_INCHES = 1.55
LEAST, MOST = 0.2, 5.0
"""Times even attention; what is below or above is drawn as the end of the scale."""


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
