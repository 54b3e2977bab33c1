"""Learning curves: held-out loss by tokens seen, with hurdles and stopped arms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import Any

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import Figure, add_lines, new_figure, opacity, spread, text_inches
from reports.figures.style import COLOURS, INK, LINE_STYLES, MARKERS, QUIET
from reports.number_format import short
from reports.section import Section
from reports.statistics.held_out_losses import furthest_curves
from reports.statistics.results import Results
from reports.table import Row, Table, printable
from steeplechase.ledger.trial_history import TrialHistory

LEFT_INCHES, PLOT_INCHES, NAMES_INCHES, HEIGHT_INCHES = 0.63, 4.96, 1.81, 4.0
NAME_POINTS, NAMES_BEGIN, PAD_INCHES = 9, 1.05, 0.1
TITLE, BAND = "Held-out loss (nats): mean over seeds", "band from lowest to highest seed"
LABELLED_LINES = len(COLOURS)
LABEL_GAP = 0.052  # of the axes' height, so that labels do not overlap


@dataclass(frozen=True)
class Line:
    """One arm's held-out loss in nats by tokens seen: mean, minimum and maximum over `n` seeds."""

    arm: str
    n: int
    tokens: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    stopped_at: int | None = None
    """The hurdle that stopped the arm, counted from 1; None without one."""


@dataclass(frozen=True)
class HurdleMark:
    """A hurdle's tokens, and its threshold if one was set."""

    tokens: int
    threshold: float | None


@dataclass(frozen=True)
class Curves:
    """Held-out loss against tokens, by arm."""

    lines: tuple[Line, ...]
    hurdles: tuple[HurdleMark, ...]


def curves_of(results: Results) -> Curves | None:
    """Return the curves; None before a measurement."""
    lines = tuple(line for arm in results.arms if (line := _line(results, arm.name)))
    return Curves(lines, tuple(_hurdles(results))) if lines else None


def _curve_rows(curves: Curves) -> Iterator[Row]:
    for line in curves.lines:
        for tokens, loss, low, high in zip(line.tokens, line.mean, line.low, line.high, strict=True):
            yield {"arm": line.arm, "n": line.n, "tokens": tokens, "loss": loss, "low": low, "high": high}


def _line(results: Results, arm: str) -> Line | None:
    """Return the mean over the seeds with the most tokens seen, so that the seeds are the same along the line."""
    seed_curves = furthest_curves(results, arm)
    if not seed_curves:
        return None
    tokens = tuple(sorted(set.intersection(*(set(points) for points in seed_curves))))
    losses = [[points[at] for points in seed_curves] for at in tokens]
    return Line(
        arm=printable(arm),
        n=len(seed_curves),
        tokens=tokens,
        mean=tuple(map(fmean, losses)),
        low=tuple(map(min, losses)),
        high=tuple(map(max, losses)),
        stopped_at=_stopped_at(results.trials[arm]),
    )


def _stopped_at(trials: tuple[TrialHistory, ...]) -> int | None:
    """Return the last hurdle that stopped a seed if every seed was stopped; else None."""
    stops = [trial.stopped_by for trial in trials]
    levels = [stop.level + 1 for stop in stops if stop is not None]
    return max(levels) if levels and len(levels) == len(stops) else None


def _hurdles(results: Results) -> Iterator[HurdleMark]:
    thresholds = {
        decision.level: decision.threshold
        for history in results.snapshot.histories
        for decision in history.decisions
        if decision.threshold is not None
    }
    for level, tokens in enumerate(results.experiment.pretraining.rung_tokens):
        yield HurdleMark(tokens, thresholds.get(level))


def draw(curves: Curves) -> Figure:
    """Return a line per arm; with many arms only the best are labelled and the others are grey."""
    labelled_lines, unlabelled = labelled(curves.lines)
    end = max(line.tokens[-1] for line in curves.lines)
    begin = (NAMES_BEGIN - 1) * PLOT_INCHES + PAD_INCHES
    names = max(NAMES_INCHES, begin + text_inches((_name(line, end) for line in labelled_lines), NAME_POINTS))
    width = LEFT_INCHES + PLOT_INCHES + names
    figure = new_figure(width, HEIGHT_INCHES)
    axes = figure.add_axes((LEFT_INCHES / width, 0.13, PLOT_INCHES / width, 0.78))
    _draw_all(axes, curves, labelled_lines, unlabelled)
    axes.set_title(f"{TITLE}, {BAND}")
    _label_ends(axes, labelled_lines, end)
    return figure


def _draw_all(axes: Any, curves: Curves, labelled_lines: Sequence[Line], unlabelled: Sequence[Line]) -> None:
    if unlabelled:
        quiet = [[*zip(line.tokens, line.mean, strict=True)] for line in unlabelled]
        add_lines(axes, quiet, colors=QUIET, linewidth=0.8, alpha=opacity(len(quiet)))
        axes.update_datalim([*chain.from_iterable(quiet)])
    for position, line in enumerate(labelled_lines):
        _draw_line(axes, line, position)
    _draw_stops(axes, unlabelled, QUIET)
    for line, colour in zip(labelled_lines, COLOURS, strict=False):
        _draw_stops(axes, [line], colour)
    _draw_hurdles(axes, curves)
    axes.set_xlabel("tokens seen" + (f"; grey: {len(unlabelled)} more" if unlabelled else ""))
    axes.xaxis.set_major_formatter(lambda tokens, _: short(round(tokens)))
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def labelled(lines: Sequence[Line]) -> tuple[Sequence[Line], Sequence[Line]]:
    """Return the labelled lines (the baseline, then by tokens seen and loss) and the unlabelled ones."""
    if len(lines) <= LABELLED_LINES:
        return lines, ()
    ranked = sorted(lines[1:], key=lambda line: (-line.tokens[-1], line.mean[-1]))
    labelled_lines = [lines[0], *ranked[: LABELLED_LINES - 1]]
    return labelled_lines, [line for line in lines if line not in labelled_lines]


def _draw_line(axes: Any, line: Line, position: int) -> None:
    colour, marker = COLOURS[position % len(COLOURS)], MARKERS[position % len(MARKERS)]
    style = LINE_STYLES[position % len(LINE_STYLES)]
    if line.n > 1:
        axes.fill_between(line.tokens, line.low, line.high, color=colour, alpha=0.13, linewidth=0)
    marker_interval = max(1, len(line.tokens) // 8)
    axes.plot(line.tokens, line.mean, color=colour, linestyle=style, marker=marker, markevery=marker_interval)


def _draw_stops(axes: Any, lines: Sequence[Line], colour: str) -> None:
    """Draw a bar at the end of each line that a hurdle stopped."""
    if stopped := [line for line in lines if line.stopped_at is not None]:
        ends, style = [line.tokens[-1] for line in stopped], {"markersize": 11, "markeredgewidth": 2, "color": colour}
        axes.plot(ends, [line.mean[-1] for line in stopped], linestyle="none", marker="|", **style)


def _draw_hurdles(axes: Any, curves: Curves) -> None:
    for level, hurdle in enumerate(curves.hurdles, start=1):
        axes.axvline(hurdle.tokens, color=QUIET, linewidth=0.9, linestyle=(0, (1, 2)), zorder=0)
        text_style = {"transform": axes.get_xaxis_transform(), "color": QUIET, "fontsize": 8.5}
        stopped = sum(line.stopped_at == level for line in curves.lines)
        axes.text(
            hurdle.tokens,
            0.985,
            f" hurdle {level}" + (f": {stopped} stopped" if stopped else ""),
            va="top",
            **text_style,
        )
        if hurdle.threshold is not None:
            axes.plot([hurdle.tokens], [hurdle.threshold], marker="_", markersize=22, color=INK, markeredgewidth=2)


def _label_ends(axes: Any, lines: Sequence[Line], right: int) -> None:
    """Write each line's name at the right in the order of the final losses, without overlaps."""
    low, high = axes.get_ylim()
    ends = sorted(range(len(lines)), key=lambda position: lines[position].mean[-1])
    shares = spread([(lines[position].mean[-1] - low) / (high - low) for position in ends], LABEL_GAP)
    for share, position in zip(shares, ends, strict=True):
        line, colour = lines[position], COLOURS[position % len(COLOURS)]
        marker = MARKERS[position % len(MARKERS)]
        outside = {"transform": axes.transAxes, "color": colour, "clip_on": False}
        axes.plot([1.03], [share], marker=marker, markersize=4.5, **outside)
        axes.text(NAMES_BEGIN, share, _name(line, right), va="center", fontsize=NAME_POINTS, **outside)


def _name(line: Line, end: int) -> str:
    stopped = "" if line.tokens[-1] == end else f", to {short(line.tokens[-1])}"
    return f"{line.arm} (n = {line.n}{stopped})"


FIGURE = ReportFigure(
    "curves",
    lambda curves: "Held-out loss by tokens seen",
    curves_of,
    lambda curves: Table.of("curves", _curve_rows(curves)),
    draw,
)
SECTION = Section("curves", figure=FIGURE)
