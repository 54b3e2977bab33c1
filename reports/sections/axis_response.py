"""Results along one numeric axis, such as the kernel size: the arms on it and their differences to a reference value.

Arms that differ in this field only form a line; for each value of a second field, such as the sequence length, there
is a separate line. Differences are from the arm at the field's default value, or else at the line's smallest value,
which makes lines with different losses comparable.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure
from reports.figures.named_lines import LOGARITHMIC, LinePanel, NamedLine, Point, figure_of
from reports.section import Section
from reports.statistics.levels import fields_by_path
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, printable
from search_space.candidate import Candidate
from steeplechase.analysis.difference import Difference
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import ArmRow

Fields = Mapping[str, JsonValue]
"""A candidate's values by dotted path."""
FEWEST_POINTS = 3
MOST_LINES = 8
PREFERRED = ("recipe.sequence_length",)
"""Fields preferred for the lines' labels if lines differ in several."""
DOWN_TO_ZERO: Mapping[str, Any] = {"value": "symlog", "base": 2, "linthresh": 1}
"""Down to 0, and logarithmic above 1."""


@dataclass(frozen=True)
class AxisPoint:
    """One arm on the axis: its mean over n seeds, and its difference to the line's reference."""

    value: float
    arm: str
    n: int
    mean: float
    difference: Difference


@dataclass(frozen=True)
class AxisLine:
    """Arms that differ in the axis only, by increasing value."""

    label: str
    points: tuple[AxisPoint, ...]
    reference: float
    """The reference value: the same on every line of a panel, or each line's smallest."""


@dataclass(frozen=True)
class AxisPanel:
    """The lines on one metric."""

    metric: Metric
    lines: tuple[AxisLine, ...]


@dataclass(frozen=True)
class AxisResponse:
    """The headline metrics along one axis, which is named for display."""

    axis: str
    panels: tuple[AxisPanel, ...]


def axis_response_of(results: Results) -> AxisResponse | None:
    """Return the curve along the axis with the most arms; None without three arms that differ in one number only.

    None for a search, whose arms vary along many axes at once.
    """
    if results.is_search:
        return None
    fields = {arm.name: fields_by_path(arm.candidate) for arm in results.arms}
    path_and_lines = _axis(fields)
    if path_and_lines is None:
        return None
    path, lines = path_and_lines
    fields_of_first = [fields[line[0]] for line in lines]
    labels = _labels(fields_of_first, path)
    default = _default_value(next(arm for arm in results.arms if arm.name == lines[0][0]), path)
    panels = []
    for metric in results.headlines:
        arms_by_value = [_measured(results, metric, {arm: fields[arm][path] for arm in line}) for line in lines]
        shared = default if all(default in by_value for by_value in arms_by_value if len(by_value) > 1) else None
        axis_lines = tuple(
            _line(results, metric, label, by_value, shared)
            for label, by_value in zip(labels, arms_by_value, strict=True)
            if len(by_value) > 1
        )
        if axis_lines:
            panels.append(AxisPanel(metric, axis_lines))
    return AxisResponse(_words(path), tuple(panels)) if panels else None


def _rows(curve: AxisResponse) -> Iterator[Row]:
    for panel in curve.panels:
        for line in panel.lines:
            for point in line.points:
                yield {
                    "axis": curve.axis,
                    "metric": panel.metric.name,
                    "line": line.label or None,
                    "reference": line.reference,
                    "value": point.value,
                    "arm": point.arm,
                    "n": point.n,
                    "mean": point.mean,
                    "pairs": point.difference.n,
                    **interval(point.difference),
                }


def _measured(results: Results, metric: Metric, values: Mapping[str, JsonValue]) -> dict[float, str]:
    """Return the measured arms of a line by increasing value."""
    return {
        float(value): arm
        for arm, value in values.items()
        if isinstance(value, int | float) and results.effect(arm, metric).mean is not None
    }


def _line(
    results: Results, metric: Metric, label: str, arms_by_value: dict[float, str], default: float | None
) -> AxisLine:
    reference = min(arms_by_value) if default is None else default
    points = []
    for value, arm in arms_by_value.items():
        effect = results.effect(arm, metric)
        difference = Difference() if value == reference else results.difference(arm, arms_by_value[reference], metric)
        assert effect.mean is not None
        points.append(AxisPoint(value, printable(arm), effect.n, effect.mean, difference))
    return AxisLine(printable(label), tuple(points), reference)


def _axis(fields: Mapping[str, Fields]) -> tuple[str, tuple[tuple[str, ...], ...]] | None:
    """Return the path of the axis with its lines, each the names of arms by increasing value."""
    paths = sorted({path for arm_fields in fields.values() for path, value in arm_fields.items() if _numeric(value)})
    candidates = [(path, lines) for path in paths if (lines := _lines(path, fields))]
    if not candidates:
        return None
    path, lines = max(candidates, key=lambda candidate: (sum(map(len, candidate[1])), max(map(len, candidate[1]))))
    return path, tuple(sorted(lines, key=lambda line: -len(line))[:MOST_LINES])


def _lines(path: str, fields: Mapping[str, Fields]) -> list[tuple[str, ...]]:
    groups: dict[str, dict[float, str]] = {}
    numbers = ((arm, of_arm.get(path)) for arm, of_arm in fields.items())
    values = {arm: float(number) for arm, number in numbers if isinstance(number, int | float) and _numeric(number)}
    if len({*values.values()}) < FEWEST_POINTS:
        return []
    for arm, value in values.items():
        other_fields = canonical_text({name: entry for name, entry in fields[arm].items() if name != path})
        groups.setdefault(other_fields, {}).setdefault(value, arm)
    long_enough = (group for group in groups.values() if len(group) >= FEWEST_POINTS)
    return [tuple(group[value] for value in sorted(group)) for group in long_enough]


def _labels(lines: Sequence[Fields], path: str) -> list[str]:
    """Return a label per line, from the fields in which lines differ; empty for a single line."""
    names = {name for fields in lines for name in fields} - {path}
    differing = sorted(name for name in names if len({canonical_text(fields.get(name)) for fields in lines}) > 1)
    label_fields = ([name for name in PREFERRED if name in differing] or differing)[:2]
    labels = []
    for fields in lines:
        values = {name: fields.get(name) for name in label_fields}
        texts = (f"{_words(name)} {'none' if value is None else value}" for name, value in values.items())
        labels.append(", ".join(texts))
    return labels


def _numeric(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(path: str) -> str:
    return path.rpartition(".")[2].replace("_", " ")


def _default_value(arm: ArmRow, path: str) -> float | None:
    """Return the default value at a path, with all other fields as in the arm."""
    document: dict[str, JsonValue] = canonical(arm.candidate)
    *above, name = path.split(".")
    holder: JsonValue = document
    for part in above:
        holder = holder.get(part) if isinstance(holder, dict) else None
    if isinstance(holder, dict):
        holder.pop(name, None)
    try:
        value = fields_by_path(Candidate.model_validate_json(canonical_text(document))).get(path)
    except ValidationError:  # the field has no default
        return None
    return float(value) if isinstance(value, int | float) else None


def draw(curve: AxisResponse) -> Figure:
    """Return a panel per metric: the difference of every arm to its line's reference, with its interval."""
    smallest = min(point.value for panel in curve.panels for line in panel.lines for point in line.points)
    scale = LOGARITHMIC if smallest > 0 else DOWN_TO_ZERO
    return figure_of([_panel(panel, curve.axis, scale) for panel in curve.panels])


def _panel(panel: AxisPanel, axis: str, scale: Mapping[str, Any]) -> LinePanel:
    references = {line.reference for line in panel.lines}
    compared = f"{axis} {min(references):g}" if len(references) == 1 else f"each line's smallest {axis}"
    lines = []
    for line in panel.lines:
        seeds = sorted({point.n for point in line.points})
        n = f"n = {seeds[0]}" if len(seeds) == 1 else f"n = {seeds[0]} to {seeds[-1]}"
        found = [(each.value, each.difference) for each in line.points]
        known = (each for each in found if each[1].delta is not None or each[0] == line.reference)
        points = [Point(value, each.delta or 0.0, each.low, each.high) for value, each in known]
        lines.append(NamedLine(f"{line.label}, {n}" if line.label else n, points))
    return LinePanel(
        lines=lines,
        title=f"Δ {panel.metric.title} to {compared}",
        spread=", 95% interval",
        label=axis,
        tick=lambda value: f"{value:g}",
        scale=scale,
        level=0.0,
    )


FIGURE = ReportFigure(
    "axis",
    lambda curve: f"Results by {curve.axis}",
    axis_response_of,
    lambda curve: Table.of("axis", _rows(curve)),
    draw,
)
SECTION = Section("axis_response", figure=FIGURE)
