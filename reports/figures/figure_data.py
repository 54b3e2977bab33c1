"""What the figures show, as numbers: computed with the report, drawn only when a figure is asked for."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean

from analysis.effects import Difference
from configuration.arm import BASELINE
from configuration.stage_label import PRETRAIN
from ledger.records import TrialStatus, curve_of
from ledger.snapshot import TrialHistory
from reports.results import Results
from reports.sanitise import printable
from reports.sections.main_table import metric_columns
from reports.sections.table import Row, Table, interval, table
from reports.statistics.metrics import Metric


@dataclass(frozen=True)
class Line:
    """One arm's held-out loss in nats: the mean over `n` seeds with the lowest and the highest, by tokens seen."""

    arm: str
    n: int
    tokens: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    stopped_at: int | None = None
    """The hurdle that stopped the arm, counted from 1; None where none did."""


@dataclass(frozen=True)
class Ahead:
    """A forecast of one arm's mean loss in nats from the tokens seen to a budget, with its interval."""

    arm: str
    tokens: tuple[float, ...]
    middle: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class HurdleMark:
    """Where trials were judged, and the bar where one was set."""

    tokens: int
    threshold: float | None


@dataclass(frozen=True)
class Curves:
    """Held-out loss against tokens, by arm."""

    lines: tuple[Line, ...]
    hurdles: tuple[HurdleMark, ...]
    ahead: tuple[Ahead, ...] = ()
    """What is forecast and was not measured."""


@dataclass(frozen=True)
class Panel:
    """One metric's differences to the baseline, by arm in the table's order."""

    metric: Metric
    decimals: int
    rows: tuple[tuple[str, Difference], ...]


@dataclass(frozen=True)
class Forest:
    """Differences to the baseline with their intervals, a panel per metric."""

    panels: tuple[Panel, ...]


def curves_of(results: Results, ahead: tuple[Ahead, ...] = ()) -> Curves | None:
    """Return the curves, None where nothing has been measured."""
    lines = tuple(line for arm in results.arms if (line := _line(arm.name, results.trials[arm.name])))
    return Curves(lines, tuple(_hurdles(results)), ahead) if lines else None


def curves_table(curves: Curves) -> Table:
    """Return the points of the curves, forecasts marked as such."""
    return table("curves", "arm n tokens loss low high forecast", _curve_rows(curves))


def _curve_rows(curves: Curves) -> Iterator[Row]:
    def rows(arm: str, n: int | None, points: Iterable[tuple[float, ...]], forecast: bool) -> Iterator[Row]:
        for tokens, loss, low, high in points:
            at = round(tokens)
            yield {"arm": arm, "n": n, "tokens": at, "loss": loss, "low": low, "high": high, "forecast": forecast}

    for line in curves.lines:
        points = zip(line.tokens, line.mean, line.low, line.high, strict=True)
        yield from rows(line.arm, line.n, points, forecast=False)
    for ahead in curves.ahead:
        drawn = zip(ahead.tokens, ahead.middle, ahead.low, ahead.high, strict=True)
        yield from rows(ahead.arm, None, drawn, forecast=True)


def _line(arm: str, trials: tuple[TrialHistory, ...]) -> Line | None:
    """Return the mean over the seeds that came furthest: a mean over changing seeds would jump."""
    whole = whole_curves(trials)
    if not whole:
        return None
    tokens = tuple(sorted(set.intersection(*(set(points) for points in whole))))
    losses = [[points[at] for points in whole] for at in tokens]
    return Line(
        arm=printable(arm),
        n=len(whole),
        tokens=tokens,
        mean=tuple(map(fmean, losses)),
        low=tuple(map(min, losses)),
        high=tuple(map(max, losses)),
        stopped_at=_stopped_at(trials),
    )


def _stopped_at(trials: tuple[TrialHistory, ...]) -> int | None:
    """Return the hurdle beyond which no seed came."""
    stops = [trial.stopped_by for trial in trials]
    levels = [stop.level + 1 for stop in stops if stop is not None]
    return max(levels) if levels and len(levels) == len(stops) else None


def whole_curves(trials: tuple[TrialHistory, ...]) -> tuple[dict[int, float], ...]:
    """Return the held-out curves of the seeds that came furthest."""
    curves = [_curve(trial) for trial in trials if trial.status is not TrialStatus.DIVERGED]
    curves = [points for points in curves if points]
    furthest = max((max(points) for points in curves), default=0)
    return tuple(points for points in curves if max(points) == furthest)


def _curve(trial: TrialHistory) -> dict[int, float]:
    points: dict[int, float] = {}
    for record in trial.finished(PRETRAIN):
        points |= curve_of(record)
    return points


def _hurdles(results: Results) -> Iterator[HurdleMark]:
    thresholds = {
        decision.level: decision.threshold
        for history in results.snapshot.histories
        for decision in history.decisions
        if decision.threshold is not None
    }
    for level, tokens in enumerate(results.setting.pretraining.hurdle.rungs):
        yield HurdleMark(tokens, thresholds.get(level))


def forest_of(results: Results) -> Forest | None:
    """Return the differences on every metric that has an interval, None where none has."""
    panels = []
    for metric in results.shown:
        columns = metric_columns(results, metric)
        rows = [(printable(arm), effect.difference) for arm, effect in columns.effects.items() if arm != BASELINE]
        if any(difference.low is not None for _, difference in rows):
            panels.append(Panel(metric, columns.decimals, tuple(rows)))
    return Forest(tuple(panels)) if panels else None


def forest_table(forest: Forest) -> Table:
    """Return the differences of every panel."""
    rows = (
        {"metric": panel.metric.name, "arm": arm, "pairs": difference.pairs, **interval(difference)}
        for panel in forest.panels
        for arm, difference in panel.rows
    )
    return table("forest", "metric arm pairs delta low high", rows)
