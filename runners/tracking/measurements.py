"""Curves and final values of trials and arms, as points of MLflow metrics.

MLflow's comparisons open with the metric sent first, or the first by name: a loss is the first of both.
The names are `delta/…`, `final/…`, `further/…`, `held_out_loss_by_tokens`, `size/…`, `task/…` and
`train_loss_by_tokens`; the step of a curve is a number of tokens.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from configuration import metrics
from foundation.schema import JsonValue
from ledger.metrics import values_of_trial
from ledger.records import Record, Status
from ledger.selected_settings import chosen_records
from ledger.snapshot import TrialHistory
from runners.tracking.mirrored_run import Point

PRETRAIN = "pretrain"
FINE_TUNE = "fine_tune"
ATTENTION = "attention"
HELD_OUT_LOSS, SCORE = "final/held_out_loss", "final/score"
DELTAS = {HELD_OUT_LOSS: "delta/held_out_loss", SCORE: "delta/score"}
CURVES = {"held_out_curve": "held_out_loss_by_tokens", "train_curve": "train_loss_by_tokens"}
AUDIT = "audit/"
"""Prefix of curves from the audit of the hurdles, which trains stopped trials to the end."""
DIGITS = 6  # significant digits of a final value; the ledger and the report have all
LONGEST_CURVE_POINTS = 200  # per trial and curve; more than a screen resolves


@dataclass(frozen=True)
class FinalValue:
    """A final value of a trial, and the latest record that it depends on."""

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
    records = [record for record in (*history.records, *history.audit) if record.stage == PRETRAIN]
    limit = max(2, LONGEST_CURVE_POINTS // max(1, sum(label.startswith(PRETRAIN) for label in labels)))
    for name, metric in CURVES.items():
        seen, elapsed = 0, 0.0
        for record in records:
            measured = [(tokens, loss) for tokens, loss in _curve(record, name) if tokens > seen]
            points = [
                Point(
                    f"{AUDIT if record in history.audit else ''}{metric}",
                    loss,
                    tokens,
                    round(1000 * (elapsed + record.seconds * share)),
                )
                for tokens, loss, share in _shares(measured, seen)
            ]
            yield from thinned(points, limit)
            seen, elapsed = max([seen, *(point.step for point in points)]), elapsed + record.seconds


def final_values(history: TrialHistory, labels: tuple[str, ...]) -> dict[str, FinalValue]:
    """Return the final values of the trial, as in reports: means over fine-tuning seeds.

    A value exists once all records that it depends on exist, and never changes later.
    """
    tasks = tasks_of(labels)
    found = {}
    for metric, values in values_of_trial(history, labels, tasks, metrics.primary_metric):
        value = number(fmean(values))
        if value is not None:
            found[_key(metric, tasks)] = FinalValue(value, _sequence(history, labels, metric))
    return found


def tasks_of(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the tasks that trials are fine-tuned on."""
    return tuple(sorted({label.partition("#")[0] for label in labels if "#" in label}))


def arm_values(trials: Sequence[Mapping[str, FinalValue]]) -> Iterator[tuple[str, FinalValue]]:
    """Yield mean, sample standard deviation and n over the trials of an arm that have the value."""
    for key in sorted({key for trial in trials for key in trial}):
        yield from _spread(key, [trial[key] for trial in trials if key in trial])


def differences(
    mine: Mapping[int, Mapping[str, FinalValue]], baseline: Mapping[int, Mapping[str, FinalValue]]
) -> Iterator[tuple[str, FinalValue]]:
    """Yield an arm's loss and score minus the baseline's: mean, standard deviation and n over common seeds."""
    for key, name in DELTAS.items():
        pairs = [
            (mine[seed][key], baseline[seed][key])
            for seed in sorted(mine.keys() & baseline.keys())
            if key in mine[seed] and key in baseline[seed]
        ]
        if pairs:
            yield from _spread(name, [FinalValue(a.value - b.value, max(a.sequence, b.sequence)) for a, b in pairs])


def _spread(key: str, values: Sequence[FinalValue]) -> Iterator[tuple[str, FinalValue]]:
    mean = _mean(values)
    yield key, mean
    yield f"{key}/n", FinalValue(len(values), mean.sequence)
    if len(values) > 1:
        yield f"{key}/sd", FinalValue(stdev(value.value for value in values), mean.sequence)


def final_points(values: Iterable[tuple[str, FinalValue]]) -> tuple[Point, ...]:
    """Return single values, rounded: MLflow shows every digit that it has.

    A later record gives a later time, because MLflow shows the latest.
    """
    return tuple(Point(key, float(f"{value.value:.{DIGITS}g}"), 0, value.sequence) for key, value in values)


def not_finite(history: TrialHistory, labels: Sequence[str]) -> tuple[str, ...]:
    """Return what could not become a metric, for a tag."""
    finals = [f"{key}: {value}" for key, value in _final_entries(history, labels) if number(value) is None]
    curves = [
        f"{CURVES[name]} at {tokens} tokens: {loss}"
        for record in history.records
        if record.stage == PRETRAIN
        for name in CURVES
        for tokens, loss in _pairs(record, name)
        if number(loss) is None
    ]
    return (*finals, *curves)


def audit_text(history: TrialHistory) -> str:
    """Return how far the audit has trained a stopped trial, empty without an audit."""
    ends = [record for record in history.audit if record.stage == PRETRAIN]
    if not ends:
        return ""
    result, status = ends[-1].result, ends[-1].status
    ended = f"held-out loss {result['held_out_loss']:.4g}" if status is Status.FINISHED else status.value
    return f"trained on past its stop to {result.get('tokens', '?')} tokens: {ended}"


def _final_entries(history: TrialHistory, labels: Sequence[str]) -> Iterator[tuple[str, JsonValue]]:
    for record in history.finished(PRETRAIN):
        yield f"{HELD_OUT_LOSS.rpartition('/')[2]} of {record.label}", record.result["held_out_loss"]
    for record in chosen_records(history.records, labels):
        scores = record.result["scores"]
        for metric, value in scores.items() if isinstance(scores, dict) else ():
            yield f"{metric} of {record.label}", value


def _key(metric: str, tasks: Sequence[str]) -> str:
    task, _, further = metric.partition(":")
    if task in tasks:
        return f"task/{task}/{further or metrics.primary_metric(task)}"
    return f"{'final' if metric in (metrics.HELD_OUT_LOSS, metrics.SCORE) else 'further'}/{metric}"


def _sequence(history: TrialHistory, labels: Sequence[str], metric: str) -> int:
    """Return the latest record that a value depends on."""
    task = metric.partition(":")[0]
    of_task = [record for record in chosen_records(history.records, labels) if record.result.get("task") == task]
    stage = {metrics.HELD_OUT_LOSS: PRETRAIN, metrics.ATTENTION_DIAGONAL: ATTENTION}.get(metric, FINE_TUNE)
    return max(record.sequence for record in of_task or history.finished(stage))


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
    """Add to each point the completed share of the record's work."""
    for tokens, loss in measured:
        yield tokens, loss, (tokens - start) / (measured[-1][0] - start)
