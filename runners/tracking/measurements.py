"""Curves and final values of trials and arms, as points of MLflow metrics."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from runners.evidence.choice import chosen_records
from runners.evidence.standing import TrialHistory
from runners.kept.records import Record, Status
from runners.tracking.mirrored_run import Point
from search_space.declaration import JsonValue

PRETRAIN = "pretrain"
FINE_TUNE = "fine_tune"
HELD_OUT_LOSS = "final/held_out_loss"
CURVES = {"train_curve": "train_loss", "held_out_curve": "held_out_loss"}
LONGEST_CURVE_POINTS = 200  # per trial and curve; more than a screen can show apart


@dataclass(frozen=True)
class FinalValue:
    """A value at the end of a trial, and the latest record that it rests on."""

    value: float
    sequence: int


def number(value: JsonValue) -> float | None:
    """Return a finite number, None for everything else: what is not finite never becomes a metric."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def thinned(points: Sequence[Point], limit: int) -> tuple[Point, ...]:
    """Return at most `limit` points, evenly chosen, the first and the last among them."""
    if len(points) <= limit:
        return tuple(points)
    last = len(points) - 1
    return tuple(points[place * last // (limit - 1)] for place in range(limit))


def curve_points(history: TrialHistory, labels: Iterable[str]) -> Iterator[Point]:
    """Yield the curves over tokens. Each record is thinned by itself, so that its points never change later."""
    records = [record for record in history.records if record.stage == PRETRAIN]
    limit = max(2, LONGEST_CURVE_POINTS // max(1, sum(label.startswith(PRETRAIN) for label in labels)))
    for name, metric in CURVES.items():
        seen, elapsed = 0, 0.0
        for record in records:
            measured = [(tokens, loss) for tokens, loss in _curve(record, name) if tokens > seen]
            points = [
                Point(metric, loss, tokens, round(1000 * (elapsed + record.seconds * share)))
                for tokens, loss, share in _shares(measured, seen)
            ]
            yield from thinned(points, limit)
            seen, elapsed = max([seen, *(point.step for point in points)]), elapsed + record.seconds


def final_values(history: TrialHistory, labels: Sequence[str]) -> dict[str, FinalValue]:
    """Return the values at the whole budget: the held-out loss, and each task's mean over fine-tuning seeds."""
    gathered: dict[str, list[FinalValue]] = {}
    for key, value, sequence in _final_entries(history, labels):
        usable = number(value)
        if usable is not None:
            gathered.setdefault(key, []).append(FinalValue(usable, sequence))
    return {key: _mean(values) for key, values in gathered.items()}


def arm_values(trials: Sequence[Mapping[str, FinalValue]]) -> Iterator[tuple[str, FinalValue]]:
    """Yield mean, sample standard deviation and n over the trials of an arm that have the value."""
    for key in sorted({key for trial in trials for key in trial}):
        values = [trial[key] for trial in trials if key in trial]
        mean = _mean(values)
        yield key, mean
        yield f"{key}/n", FinalValue(len(values), mean.sequence)
        if len(values) > 1:
            yield f"{key}/sd", FinalValue(stdev(value.value for value in values), mean.sequence)


def final_points(values: Iterable[tuple[str, FinalValue]]) -> tuple[Point, ...]:
    """Return single values; a later record gives a later time, because MLflow shows the latest."""
    return tuple(Point(key, value.value, 0, value.sequence) for key, value in values)


def not_finite(history: TrialHistory, labels: Sequence[str]) -> tuple[str, ...]:
    """Return what could not become a metric, for a tag."""
    finals = [f"{key}: {value}" for key, value, _ in _final_entries(history, labels) if number(value) is None]
    curves = [
        f"{CURVES[name]} at {tokens} tokens: {loss}"
        for record in history.records
        if record.stage == PRETRAIN
        for name in CURVES
        for tokens, loss in _pairs(record, name)
        if number(loss) is None
    ]
    return (*finals, *curves)


def _final_entries(history: TrialHistory, labels: Sequence[str]) -> Iterator[tuple[str, JsonValue, int]]:
    whole_budget = [label for label in labels if label.startswith(PRETRAIN)][-1:]
    chosen = {record.label for record in chosen_records(history.records, labels)}
    for record in history.records:
        if record.status is not Status.FINISHED or (record.stage == FINE_TUNE and record.label not in chosen):
            continue
        if record.stage == PRETRAIN and record.label in whole_budget:
            yield HELD_OUT_LOSS, record.result["held_out_loss"], record.sequence
        scores = record.result["scores"] if record.stage == FINE_TUNE else None
        if isinstance(scores, dict):
            for metric, value in scores.items():
                yield f"final/{record.result['task']}/{metric}", value, record.sequence


def _mean(values: Sequence[FinalValue]) -> FinalValue:
    return FinalValue(fmean(value.value for value in values), max(value.sequence for value in values))


def _curve(record: Record, name: str) -> Iterator[tuple[int, float]]:
    for tokens, loss in _pairs(record, name):
        step, value = number(tokens), number(loss)
        if step is not None and value is not None:
            yield int(step), value


def _pairs(record: Record, name: str) -> Iterator[tuple[JsonValue, JsonValue]]:
    pairs = record.result.get(name)
    for pair in pairs if isinstance(pairs, list) else ():
        if isinstance(pair, list) and len(pair) == 2:
            yield pair[0], pair[1]


def _shares(measured: Sequence[tuple[int, float]], start: int) -> Iterator[tuple[int, float, float]]:
    """Add to each point the share of the record's work that was done by then."""
    for tokens, loss in measured:
        yield tokens, loss, (tokens - start) / (measured[-1][0] - start)
