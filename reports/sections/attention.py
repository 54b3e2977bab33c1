"""Attention locality C, mass near the diagonal over mass beyond it: by arm, reading and layer, with Δ.

The figure has the maps by arm and layer, relative to uniform attention; darker is more.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log10
from statistics import fmean
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, new_figure
from reports.figures.style import QUIET
from reports.number_format import decimals_for, difference_text, fixed, mean_text, two_seeds
from reports.section import Content, Section
from reports.statistics.learning import stayed_of
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Cell, Column, Grid, Row, Table, interval, printable, shown, table, words
from steeplechase.analysis.difference import Effect, SeedValues
from steeplechase.analysis.effects import effect
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.measurements.attention import (
    ALL,
    READINGS,
    AttentionResult,
    Cells,
    uniform_concentration,
)
from steeplechase.configuration.metrics import ATTENTION_DIAGONAL
from steeplechase.ledger.metrics import attention_of

DIAGONAL = Metric(ATTENTION_DIAGONAL)
COLUMNS = "arm reading layer length within uniform n mean sd delta low high"


def attention_of_learners(results: Results) -> Mapping[str, Mapping[int, AttentionResult]]:
    """Return attention by arm and pretraining seed that left the plateau of its loss, arms in the table's order."""
    found = {
        arm.name: {
            history.trial.seed: seen
            for history in results.trials[arm.name]
            if history.trial.seed not in stayed_of(arm.name, results.learning) and (seen := attention_of(history))
        }
        for arm in results.arms
    }
    return {arm: by_seed for arm, by_seed in found.items() if by_seed}


def attention_table(results: Results) -> Table:
    """Return C by arm: every reading over all layers, then one row per layer, with Welch's or paired differences."""
    return table(ATTENTION_DIAGONAL, COLUMNS, _rows(results))


def attention_grids(results: Results) -> Iterator[Grid]:
    """Yield the grid of C by arm and reading; none where C was not measured."""
    measured = list(results.once(attention_of_learners).items())
    if not measured:
        return
    example = next(iter(measured[0][1].values()))
    effects = {(arm, reading): _effect(results, arm, reading, None) for arm, _ in measured for reading in READINGS}
    decimals = max(2, decimals_for([effect_of_reading.sd for effect_of_reading in effects.values()], fallback=3))

    def mean(reading: str, arm: str) -> str:
        return mean_text(effects[arm, reading], decimals)

    def delta(reading: str, arm: str) -> Cell:
        difference = effects[arm, reading].difference
        text = difference_text(difference, decimals) + two_seeds(difference)
        return Cell(text, intervals=int(difference.low is not None))

    columns = [words("arm", str)]
    for reading in READINGS:
        columns.append(Column("mean ± sd (n)", reading, read=partial(mean, reading)))
        columns.append(Column("Δ [95%]", reading, read=partial(delta, reading)))
    uniform_c = uniform_concentration(example.length, example.within)
    uniform = "" if uniform_c is None else f"; uniform attention has C = {fixed(uniform_c, decimals)}"
    definition = f"C = mass within {example.within} tokens / mass beyond, at length {example.length}"
    note = (
        f"C is measured on {example.sequences} held-out sequences without masking. The paper does not specify "
        "the evaluation text, the sequence length, or how heads, [CLS] and [SEP] enter C: claims are tested on "
        f"the reading {ALL}, and other readings are reported beside it. The paper's numbers were not found. C "
        "falls with the sequence length, so that only values at the same length are comparable."
    )
    title = f"Attention locality: {definition}{uniform}"
    yield from shown(ATTENTION_DIAGONAL, title, columns, [arm for arm, _ in measured], [note])


def attention_clause(results: Results) -> str:
    """Return the finding's clause on C: the arm with the largest difference from the baseline; empty without one."""
    arms = [arm for arm, _ in results.once(attention_of_learners).items()]
    effects = {arm: results.effect(arm, DIAGONAL) for arm in arms}
    rivals = [arm for arm in arms if arm != BASELINE and effects[arm].difference.delta is not None]
    if not rivals or BASELINE not in effects:
        return ""
    decimals = max(2, decimals_for([one.sd for one in effects.values()], fallback=3))
    farthest = max(rivals, key=lambda arm: abs(effects[arm].difference.delta or 0.0))
    difference = effects[farthest].difference
    significance = "significant without correction" if difference.excludes_zero else "not significant"
    means = " against ".join(fixed(effects[arm].mean or 0.0, decimals) for arm in (farthest, BASELINE))
    numbers = f"{means}; Δ {difference_text(difference, decimals)}, n = {difference.n}"
    return f"in attention locality, {farthest} differs most from the baseline ({significance}): C = {numbers}"


def _rows(results: Results) -> Iterator[Row]:
    for arm, by_seed in results.once(attention_of_learners).items():
        example = next(iter(by_seed.values()))
        for reading, layer in [*((name, None) for name in READINGS), *((ALL, n) for n in range(example.depth))]:
            measured_effect = _effect(results, arm, reading, layer)
            yield {
                "arm": arm,
                "reading": reading,
                "layer": None if layer is None else layer + 1,
                "length": example.length,
                "within": example.within,
                "uniform": uniform_concentration(example.length, example.within),
                "n": measured_effect.n,
                "mean": measured_effect.mean,
                "sd": measured_effect.sd,
                **interval(measured_effect.difference),
            }


def _effect(results: Results, arm: str, reading: str, layer: int | None) -> Effect:
    samples: list[SeedValues] = []
    for name in (arm, BASELINE):
        measured = results.once(attention_of_learners).get(name, {}).items()
        by_seed = {seed: attention.concentration(reading, layer) for seed, attention in measured}
        samples.append({seed: value for seed, value in by_seed.items() if value is not None})
    values, baseline = samples
    return effect(values, None if arm == BASELINE else baseline, results.confidence(arm), results.test)


def _content(results: Results) -> Content:
    return Content((attention_table(results),), tuple(attention_grids(results)))


MOST_ARMS, MOST_LAYERS = 4, 6
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


def attention_maps_of(results: Results) -> AttentionMaps | None:
    """Return the maps of the baseline and of the arms whose C differs most from it; None without maps."""
    measured = [(arm, list(by_seed.values())) for arm, by_seed in results.once(attention_of_learners).items()]
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
    rows: list[Row] = []
    for arm_maps in maps.arms:
        for layer, attention_map in zip(maps.layers, arm_maps.maps, strict=True):
            for query, cells in enumerate(attention_map, 1):
                weights = " ".join(f"{weight:.6g}" for weight in cells)
                named: Row = {"arm": arm_maps.arm, "n": arm_maps.n, "layer": layer, "query": query}
                rows.append({**named, "weights": weights})
    return table("attention", "arm n layer query weights", rows)


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
SECTION = Section(
    ATTENTION_DIAGONAL,
    _content,
    lambda results: bool(results.descriptions),
    clauses=lambda results: [attention_clause(results)],
    figure=FIGURE,
)
