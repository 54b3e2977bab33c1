"""Parallel coordinates of a search: every candidate by its values on the axes, at the last rung that it reached.

Inselberg 1985, 10.1007/BF01898350. A candidate that a hurdle stopped has the held-out loss of that rung, in the
rung's colour: losses at different rungs do not compare.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, add_lines, new_figure, opacity
from reports.figures.style import COLOURS, INK, QUIET
from reports.number_format import short
from reports.section import Section, number_text
from reports.sections.candidates import candidates_table
from reports.statistics.results import Results
from reports.table import Row, Table, number, printable
from search_space.candidate import Candidate
from search_space.overrides import absolute_path
from steeplechase.configuration.arm import BASELINE

ABSENT = "none"
"""The value of a candidate on an axis that it lacks, such as the kernel size without a convolution."""
INCHES_PER_AXIS, HEIGHT_INCHES, POINTS = 1.35, 3.6, 8
LOSS_DECIMALS = 2
MOST_NAMES = 14


@dataclass(frozen=True)
class Line:
    """One candidate: its values by axis, in words, and its loss at its last rung."""

    arm: str
    values: tuple[str, ...]
    tokens: int
    loss: float


@dataclass(frozen=True)
class Lines:
    """The candidates of a search, the baseline first."""

    axes: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    """By axis its values in their declared order; those that only a fixed arm has, and `ABSENT`, come last."""
    lines: tuple[Line, ...]

    @property
    def rungs(self) -> tuple[int, ...]:
        """Tokens at which candidates have ended, rising."""
        return tuple(sorted({line.tokens for line in self.lines}))


def _of_evidence(results: Results) -> Lines | None:
    """Return every candidate with a loss; None without a search over axes, or before the first candidate has one."""
    search = results.experiment.search
    if search is None or not search.space:
        return None
    candidates = {arm.name: arm.candidate for arm in results.arms}
    found = [
        Line(arm, tuple(_label(candidates[arm], axis) for axis in search.space), tokens, loss)
        for row in results.once(candidates_table).rows
        if (loss := number(row["held_out_loss"])) is not None and isinstance(tokens := row["tokens"], int)
        for arm in [str(row["arm"])]
    ]
    levels = {
        axis: tuple(dict.fromkeys([*map(_text, values), *(line.values[place] for line in found)]))
        for place, (axis, values) in enumerate(search.space.items())
    }
    return Lines((*search.space,), levels, tuple(found)) if len(found) > 1 else None


def _label(candidate: Candidate, axis: str) -> str:
    value: object = candidate.model_dump(mode="json")
    for part in absolute_path(axis):
        value = value.get(part) if isinstance(value, dict) else None
    return ABSENT if value is None else _text(value)


def _text(value: object) -> str:
    return str(value["kind"]) if isinstance(value, Mapping) else str(value)


def _rows(lines: Lines) -> Iterator[Row]:
    for line in lines.lines:
        values = dict(zip(lines.axes, line.values, strict=True))
        yield {"arm": line.arm, **values, "tokens": line.tokens, "held_out_loss": line.loss}


def draw(lines: Lines) -> Figure:
    """Return an axis for each axis of the space and one for the loss, the lowest at the top."""
    count, losses = len(lines.axes) + 1, [line.loss for line in lines.lines]
    axes = new_figure(INCHES_PER_AXIS * count + 1.2, HEIGHT_INCHES).add_axes((0.06, 0.12, 0.8, 0.74))
    span, colours = (max(losses) - min(losses)) or 1.0, _colours(lines)
    drawn = [*reversed(lines.lines)]
    places = [[*map(_place, lines.levels.values(), line.values), (max(losses) - line.loss) / span] for line in drawn]
    styles = [(INK, "--") if line.arm == BASELINE else (colours[line.tokens], "-") for line in drawn]
    inks, strokes = zip(*styles, strict=True)
    add_lines(
        axes,
        [[*enumerate(each)] for each in places],
        colors=inks,
        linestyles=strokes,
        linewidth=1.1,
        alpha=opacity(len(drawn)),
    )
    for position, axis in enumerate(lines.axes):
        axes.axvline(position, color=QUIET, linewidth=0.8, zorder=0)
        for level in _named(lines.levels[axis]):
            text = printable(level)
            axes.text(position + 0.03, _place(lines.levels[axis], level), text, fontsize=POINTS, va="bottom")
    axes.axvline(count - 1, color=QUIET, linewidth=0.8, zorder=0)
    for height, loss in ((1.0, min(losses)), (0.0, max(losses))):
        axes.text(count - 1 + 0.05, height, number_text(loss, LOSS_DECIMALS), fontsize=POINTS, va="center")
    for row, (rung, colour) in enumerate(colours.items()):
        axes.text(count - 1 + 0.05, 0.85 - 0.1 * row, f"at {short(rung)} tokens", fontsize=POINTS, color=colour)
    axes.set_xticks(range(count), [*map(_heading, lines.axes), "held-out loss"], fontsize=POINTS)
    axes.set_xlim(-0.1, count - 0.4)
    axes.set_ylim(-0.08, 1.12)
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    return axes.figure


def _heading(axis: str) -> str:
    return printable(axis).replace(".", ".\n").replace("feed_forward_", "feed_forward_\n")


def _place(levels: tuple[str, ...], value: str) -> float:
    return levels.index(value) / max(1, len(levels) - 1)


def _named(levels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the levels whose names fit beside the axis: all, or some in equal steps from the first on."""
    return levels[:: ceil(len(levels) / MOST_NAMES)]


def _colours(lines: Lines) -> dict[int, str]:
    """Return the colour of each rung, rising; the first of all colours is the baseline's."""
    return {rung: COLOURS[1 + place % (len(COLOURS) - 1)] for place, rung in enumerate(lines.rungs)}


FIGURE = ReportFigure(
    "parallel_coordinates",
    lambda lines: f"Every candidate with a loss at its last rung ({len(lines.lines) - 1}; the baseline dashed)",
    _of_evidence,
    lambda lines: Table.of("parallel_coordinates", _rows(lines)),
    draw,
)
SECTION = Section("parallel_coordinates", figure=FIGURE)
