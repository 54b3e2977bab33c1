"""Results along one numeric axis, such as the kernel size: which arms lie on it, and how each differs from the usual.

Arms that differ in one number alone form a line; where they differ in a second thing too, such as the length of the
sequences, there is a line for each. Differences are paired by seed with the value that a declaration has when it does
not say, or else with the line's smallest, so that what seeds have in common is not part of the interval, and lines
whose losses cannot be compared still can be.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from analysis.effects import Difference
from foundation.schema import JsonValue, canonical, canonical_text
from ledger.records import ArmRow
from reports.sanitise import printable
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, table
from search_space.candidate import Candidate

Fields = Mapping[str, JsonValue]
"""A candidate's values by dotted path."""
FEWEST_POINTS = 3
MOST_LINES = 8
KERNEL_SIZE, LENGTH, DEPTH = "architecture.convolution.kernel_size", "recipe.sequence_length", "architecture.depth"
PREFERRED = (LENGTH,)
"""Of several fields in which lines differ, those that name them."""


@dataclass(frozen=True)
class AxisPoint:
    """One arm on the axis: its mean over n seeds, and its paired difference to the line's reference."""

    value: float
    arm: str
    n: int
    mean: float
    difference: Difference


@dataclass(frozen=True)
class AxisLine:
    """Arms that differ in the axis alone, by rising value."""

    label: str
    points: tuple[AxisPoint, ...]
    reference: float
    """The value that the others are compared with: the same on every line of a panel, or each line's smallest."""
    cover: float | None = None
    """The kernel size 1 + (n - 1) / L from which on L layers see a whole sequence of n tokens."""


@dataclass(frozen=True)
class AxisPanel:
    """The lines on one metric."""

    metric: Metric
    decimals: int
    lines: tuple[AxisLine, ...]


@dataclass(frozen=True)
class AxisCurve:
    """What becomes of the headline metrics along one axis."""

    axis: str
    """The axis in words."""
    panels: tuple[AxisPanel, ...]


def axis_curve_of(evidence: Evidence) -> AxisCurve | None:
    """Return the curve along the axis that most arms lie on, None where no three arms differ in one number alone.

    A search proposes its arms along many axes at once and has no such curve.
    """
    results = evidence.results
    if results.is_search:
        return None
    fields = {arm.name: fields_of(arm) for arm in results.arms}
    found = _axis(fields)
    if found is None:
        return None
    path, lines = found
    first = [fields[line[0]] for line in lines]
    named = [(label, _cover(path, of_first)) for label, of_first in zip(_labels(first, path), first, strict=True)]
    usual = usual_value(next(arm for arm in results.arms if arm.name == lines[0][0]), path)
    panels = []
    for metric in results.headlines:
        placed = [_measured(results, metric, {arm: fields[arm][path] for arm in line}) for line in lines]
        shared = usual if all(usual in on_line for on_line in placed if len(on_line) > 1) else None
        shown = tuple(
            _line(results, metric, label, cover, on_line, shared)
            for (label, cover), on_line in zip(named, placed, strict=True)
            if len(on_line) > 1
        )
        if shown:
            panels.append(AxisPanel(metric, results.decimals(metric), shown))
    return AxisCurve(_words(path), tuple(panels)) if panels else None


def axis_table(curve: AxisCurve) -> Table:
    """Return a row per point, metric by metric and line by line."""
    return table("axis", "axis metric line cover reference value arm n mean pairs delta low high", _rows(curve))


def _rows(curve: AxisCurve) -> Iterator[Row]:
    for panel in curve.panels:
        for line in panel.lines:
            for point in line.points:
                yield {
                    "axis": curve.axis,
                    "metric": panel.metric.name,
                    "line": line.label or None,
                    "cover": line.cover,
                    "reference": line.reference,
                    "value": point.value,
                    "arm": point.arm,
                    "n": point.n,
                    "mean": point.mean,
                    "pairs": point.difference.pairs,
                    **interval(point.difference),
                }


def _measured(results: Results, metric: Metric, values: Mapping[str, JsonValue]) -> dict[float, str]:
    """Return the arms of a line that were measured, by their rising values."""
    return {
        float(value): arm
        for arm, value in values.items()
        if isinstance(value, int | float) and results.effect(arm, metric).mean is not None
    }


def _line(
    results: Results, metric: Metric, label: str, cover: float | None, placed: dict[float, str], usual: float | None
) -> AxisLine:
    reference = min(placed) if usual is None else usual
    points = []
    for value, arm in placed.items():
        effect = results.effect(arm, metric)
        difference = Difference() if value == reference else results.difference(arm, placed[reference], metric)
        assert effect.mean is not None
        points.append(AxisPoint(value, printable(arm), effect.n, effect.mean, difference))
    return AxisLine(printable(label), tuple(points), reference, cover)


def _axis(fields: Mapping[str, Fields]) -> tuple[str, tuple[tuple[str, ...], ...]] | None:
    """Return the path of the axis with its lines, each the names of arms by rising value."""
    paths = sorted({path for of_arm in fields.values() for path, value in of_arm.items() if _numeric(value)})
    candidates = [(path, lines) for path in paths if (lines := _lines(path, fields))]
    if not candidates:
        return None
    path, lines = max(candidates, key=lambda found: (sum(map(len, found[1])), max(map(len, found[1]))))
    return path, tuple(sorted(lines, key=lambda line: -len(line))[:MOST_LINES])


def _lines(path: str, fields: Mapping[str, Fields]) -> list[tuple[str, ...]]:
    groups: dict[str, dict[float, str]] = {}
    for arm, of_arm in fields.items():
        value = of_arm.get(path)
        if isinstance(value, int | float) and _numeric(value):
            others = canonical_text({name: entry for name, entry in of_arm.items() if name != path})
            groups.setdefault(others, {}).setdefault(float(value), arm)
    kept = (group for group in groups.values() if len(group) >= FEWEST_POINTS)
    return [tuple(group[value] for value in sorted(group)) for group in kept]


def _labels(lines: Sequence[Fields], path: str) -> list[str]:
    """Return the fields in which the lines differ; a single line needs no name."""
    named = {name for fields in lines for name in fields} - {path}
    apart = sorted(name for name in named if len({canonical_text(fields.get(name)) for fields in lines}) > 1)
    chosen = [name for name in PREFERRED if name in apart] or apart
    return [", ".join(f"{_words(name)} {_shown(fields.get(name))}" for name in chosen[:2]) for fields in lines]


def _cover(path: str, fields: Fields) -> float | None:
    length, depth = fields.get(LENGTH), fields.get(DEPTH)
    if path != KERNEL_SIZE or not isinstance(length, int) or not isinstance(depth, int):
        return None
    return 1 + (length - 1) / depth


def _numeric(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(path: str) -> str:
    return path.rpartition(".")[2].replace("_", " ")


def _shown(value: JsonValue) -> str:
    return "none" if value is None else str(value)


def fields_of(arm: ArmRow) -> Fields:
    """Return every value of an arm's candidate by its dotted path, defaults included."""
    return _values(arm.candidate)


def _values(candidate: Candidate) -> Fields:
    return dict(_flat(candidate.model_dump(mode="json"), ""))


def _flat(document: Mapping[str, JsonValue], above: str) -> Iterator[tuple[str, JsonValue]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def usual_value(arm: ArmRow, path: str) -> float | None:
    """Return the default at a path, all else as in the arm."""
    document: dict[str, JsonValue] = canonical(arm.candidate)
    *above, name = path.split(".")
    holder: JsonValue = document
    for part in above:
        holder = holder.get(part) if isinstance(holder, dict) else None
    if isinstance(holder, dict):
        holder.pop(name, None)
    try:
        value = _values(Candidate.model_validate_json(canonical_text(document))).get(path)
    except ValidationError:  # a field that every declaration must fill
        return None
    return float(value) if isinstance(value, int | float) else None
