"""Curves and final values of trials and arms, as points of MLflow metrics.

MLflow's comparisons open with the metric sent first, or the first by name: a loss is the first of both.
The names are `delta/…`, `final/…`, `further/…`, `held_out_loss_by_tokens`, `last_rung/…`, `probe_score_by_tokens`,
`size/…`, `task/…` and `train_loss_by_tokens`, with `/TERM` for a term of that loss; the step of a curve is a count of
tokens. Values have all digits of the ledger.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev
from typing import TypeVar

from runners.tracking.mirrored_run import Point
from steeplechase.analysis.difference import MeanTest
from steeplechase.analysis.effects import difference_of
from steeplechase.configuration import metrics
from steeplechase.configuration.measurements.attention import ATTENTION
from steeplechase.configuration.stage_label import PRETRAIN, PROBE, TASK_STAGES, fine_tuning_cells, pretraining_marks
from steeplechase.ledger.metrics import values_of_trial
from steeplechase.ledger.records import Record, TrialStatus, with_results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import (
    Curve,
    FineTuneResult,
    Pretraining,
    PretrainResult,
    Real,
    finite,
    finite_points,
)
from steeplechase.ledger.task_standing import task_standings, tasks_in_score
from steeplechase.ledger.trial_history import TrialHistory, chosen_records
from steeplechase.tasks.downstream import task_names

HELD_OUT_LOSS, SCORE = "final/held_out_loss", "final/score"
DELTAS = {HELD_OUT_LOSS: "delta/held_out_loss", SCORE: "delta/score"}
HELD_OUT_CURVE, TRAIN_CURVE = "held_out_loss_by_tokens", "train_loss_by_tokens"
CURVES: Mapping[str, Callable[[Pretraining], Curve]] = {
    HELD_OUT_CURVE: lambda result: result.held_out_curve,
    TRAIN_CURVE: lambda result: result.train_curve,
}
AUDIT = "audit/"
"""Prefix of curves from the audit of the hurdles, which trains stopped trials to the end."""
PROBE_CURVE = "probe_score_by_tokens"
LAST_RUNG = ("last_rung/held_out_loss", "last_rung/tokens", "last_rung/probe_score")
"""Of stopped trials and arms, which have no final values."""
LONGEST_CURVE_POINTS = 200  # per trial and curve; more than a screen resolves

Item = TypeVar("Item")


@dataclass(frozen=True)
class Score:
    """The tasks whose mean is the score, by the rule of the reports."""

    tasks: tuple[str, ...] = ()
    """None before all trials have ended or a limit has ended the run: whether a task counts depends on all arms."""
    sequence: int = 0
    """Above every record, since the score depends on all of them."""
    description: str = ""
    """The tasks in the score, and those left out with the references that they do not exceed."""


def score_of(snapshot: Snapshot) -> Score:
    """Return the tasks that are in the score of a study."""
    tasks = tasks_of(snapshot.labels)
    if not tasks or not (snapshot.over or snapshot.stopped_by_limit):
        return Score()
    found = task_standings(snapshot, tasks, _primary_metric_in(snapshot.histories))
    scored = tasks_in_score(tasks, found)
    left_out = [f"{task} (not above {', '.join(found[task].missed)})" for task in tasks if task not in scored]
    description = ", ".join(scored) or "none"
    if left_out:
        description = f"{description}; left out: {', '.join(left_out)}"
    records = [record for history in snapshot.every_history for record in (*history.records, *history.audit)]
    return Score(scored, 1 + max((record.sequence for record in records), default=0), description)


def thinned(points: Sequence[Item], limit: int) -> tuple[Item, ...]:
    """Return at most `limit` points, evenly chosen, the first and the last among them."""
    if len(points) <= limit:
        return tuple(points)
    last = len(points) - 1
    return tuple(points[index * last // (limit - 1)] for index in range(limit))


def curve_points(history: TrialHistory, labels: Sequence[str]) -> Iterator[Point]:
    """Yield the curves over tokens. Each record is thinned by itself, so that its points never change later."""
    records = [record for record in (*history.records, *history.audit) if record.stage == PRETRAIN]
    limit = max(2, LONGEST_CURVE_POINTS // max(1, len(pretraining_marks(labels))))
    for metric, curve in _curves_of(records).items():
        seen, elapsed = 0, 0.0
        for record in records:
            measured = [(tokens, loss) for tokens, loss in finite_points(_points(record, curve)) if tokens > seen]
            name = f"{AUDIT if record in history.audit else ''}{metric}"
            for tokens, loss in thinned(measured, limit):
                share = (tokens - seen) / (measured[-1][0] - seen)  # of the record's work
                yield Point(name, loss, tokens, round(1000 * (elapsed + record.seconds * share)))
            seen, elapsed = max([seen, *(tokens for tokens, _ in measured)]), elapsed + record.seconds
    for record in history.finished(PROBE):
        if (score := probe_score(record)) is not None:
            yield Point(PROBE_CURVE, score, int(record.label.partition("@")[2]), record.sequence)


def _curves_of(records: Iterable[Record]) -> dict[str, Callable[[Pretraining], Curve]]:
    """Return every curve that the records have by its name: the losses, and the terms of the training loss."""
    results = (record.result for record in records if isinstance(record.result, Pretraining))
    terms = dict.fromkeys(name for result in results for name in result.term_curves)
    return {**CURVES, **{f"{TRAIN_CURVE}/{name}": partial(_term_curve, name) for name in terms}}


def _term_curve(name: str, result: Pretraining) -> Curve:
    return result.term_curves.get(name, ())


def final_value(key: str, value: float, latest: int) -> Point:
    """Return a single value. The latest record that it depends on is its time, because MLflow shows the last one."""
    return Point(key, value, milliseconds=latest)


def final_values(history: TrialHistory, labels: tuple[str, ...], score: Score) -> dict[str, Point]:
    """Return the final values of the trial by key, as in reports: means over fine-tuning seeds.

    A value exists once all records that it depends on exist, and never changes later, except for the score: further
    trials may change the tasks that are in it.
    """
    tasks, primary = tasks_of(labels), _primary_metric_in([history])
    by_key = {}
    for metric, values in values_of_trial(history, labels, tasks, primary, score.tasks):
        value = finite(fmean(values))
        if value is not None:
            latest = score.sequence if metric == metrics.SCORE else _sequence(history, labels, metric)
            key = _key(metric, tasks, primary)
            by_key[key] = final_value(key, value, latest)
    return by_key


def tasks_of(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the tasks that trials are fine-tuned on."""
    return tuple(sorted({cell.task for cell in fine_tuning_cells(labels) if cell.task is not None}))


def arm_values(trials: Sequence[Mapping[str, Point]]) -> Iterator[Point]:
    """Yield mean, sample standard deviation and n over the trials of an arm that have the value."""
    for key in sorted({key for trial in trials for key in trial}):
        yield from _spread(key, [trial[key] for trial in trials if key in trial])


def differences(
    arm: Mapping[int, Mapping[str, Point]], baseline: Mapping[int, Mapping[str, Point]], test: MeanTest
) -> Iterator[Point]:
    """Yield an arm's loss and score minus the baseline's over common seeds: mean, its 95% interval, sd and n."""
    for key, name in DELTAS.items():
        pairs = [
            (arm[seed][key], baseline[seed][key])
            for seed in sorted(arm.keys() & baseline.keys())
            if key in arm[seed] and key in baseline[seed]
        ]
        if pairs:
            latest = max(one.milliseconds for pair in pairs for one in pair)
            yield from _spread(name, [final_value(name, own.value - other.value, latest) for own, other in pairs])
            of_arm, of_baseline = (dict(enumerate(pair[side].value for pair in pairs)) for side in (0, 1))
            found = difference_of(of_arm, of_baseline, test=test)
            for end, bound in (("low", found.low), ("high", found.high)):
                if bound is not None:
                    yield final_value(f"{name}/{end}", bound, latest)


def verdict_on(values: Mapping[str, Point]) -> str:
    """Return what the intervals of the differences say, without correction for several tests; empty without one."""
    texts = []
    for key, name in DELTAS.items():
        if name not in values:
            continue
        low, high = values.get(f"{name}/low"), values.get(f"{name}/high")
        delta, metric = values[name].value, key.rpartition("/")[2]
        if low is None or high is None:
            texts.append(f"{metric} {delta:+.4g}: no interval")
            continue
        better = (delta < 0) == (key == HELD_OUT_LOSS)
        word = "undecided" if low.value <= 0 <= high.value else "better" if better else "worse"
        texts.append(f"{metric} {delta:+.4g} [{low.value:+.4g}, {high.value:+.4g}]: {word}, uncorrected")
    return "; ".join(texts)


def last_rung(history: TrialHistory) -> dict[str, Point]:
    """Return the values of a stopped trial at the last rung that it reached; empty of other trials."""
    records = [*with_results(history.finished(PRETRAIN), PretrainResult)]
    if history.status is not TrialStatus.STOPPED or not records:
        return {}
    record, result = records[-1]
    probes = [(probe.sequence, probe_score(probe)) for probe in history.finished(PROBE)]
    sequence = max([record.sequence, *(each for each, _ in probes)])
    values = (result.held_out_loss, result.tokens, probes[-1][1] if probes else None)
    return {
        key: final_value(key, value, sequence)
        for key, number in zip(LAST_RUNG, values, strict=True)
        if (value := finite(number)) is not None
    }


def probe_score(record: Record) -> float | None:
    """Return the score of a probe; None where it has none."""
    assert isinstance(record.result, FineTuneResult)
    own = record.result.primary_metric or metrics.primary_metric(record.result.task)
    return finite(record.result.scores.get(own))


def _spread(key: str, points: Sequence[Point]) -> Iterator[Point]:
    values, latest = [point.value for point in points], max(point.milliseconds for point in points)
    yield final_value(key, fmean(values), latest)
    yield final_value(f"{key}/n", len(values), latest)
    if len(values) > 1:
        yield final_value(f"{key}/sd", stdev(values), latest)


def not_finite(history: TrialHistory, labels: Sequence[str]) -> tuple[str, ...]:
    """Return what could not become a metric, for a tag."""
    finals = [f"{key}: {value}" for key, value in _final_entries(history, labels) if finite(value) is None]
    curves = [
        f"{metric} at {tokens} tokens: {loss}"
        for record in history.records
        if record.stage == PRETRAIN
        for metric, curve in _curves_of([record]).items()
        for tokens, loss in _points(record, curve)
        if finite(loss) is None
    ]
    return (*finals, *curves)


def audit_text(history: TrialHistory) -> str:
    """Return how far the audit has trained a stopped trial, empty without an audit."""
    ends = [record for record in history.audit if record.stage == PRETRAIN]
    if not ends:
        return ""
    result, ended = ends[-1].result, ends[-1].status.value
    if isinstance(result, PretrainResult):
        ended = f"held-out loss {result.held_out_loss:.4g}"
    seen = result.tokens if isinstance(result, Pretraining) else "?"
    return f"trained on past its stop to {seen} tokens: {ended}"


def _final_entries(history: TrialHistory, labels: Sequence[str]) -> Iterator[tuple[str, Real]]:
    for record, result in with_results(history.finished(PRETRAIN), PretrainResult):
        yield f"{HELD_OUT_LOSS.rpartition('/')[2]} of {record.label}", result.held_out_loss
    for record, tuned in with_results(chosen_records(history.records, labels), FineTuneResult):
        for metric, value in tuned.scores.items():
            yield f"{metric} of {record.label}", value


def _primary_metric_in(histories: Iterable[TrialHistory]) -> metrics.PrimaryMetric:
    """Return the primary metric by task; the records of tasks that the experiment declares have it.

    It is empty for such a task without a record, which has no value.
    """
    records = [record for history in histories for record in history.records]
    own = {result.task: result.primary_metric for _, result in with_results(records, FineTuneResult)}
    known = task_names()
    return lambda task: own.get(task) or (metrics.primary_metric(task) if task in known else "")


def _key(metric: str, tasks: Sequence[str], primary: metrics.PrimaryMetric) -> str:
    task, _, further = metric.partition(":")
    if task in tasks:
        return f"task/{task}/{further or primary(task)}"
    return f"{'final' if metric in (metrics.HELD_OUT_LOSS, metrics.SCORE) else 'further'}/{metric}"


def _sequence(history: TrialHistory, labels: Sequence[str], metric: str) -> int:
    """Return the latest record that a value depends on."""
    task = metric.partition(":")[0]
    tuned = with_results(chosen_records(history.records, labels), FineTuneResult)
    task_records = [record for record, result in tuned if result.task == task]
    kinds = {metrics.HELD_OUT_LOSS: (PRETRAIN,), metrics.ATTENTION_DIAGONAL: (ATTENTION,)}.get(metric, TASK_STAGES)
    records = task_records or [record for kind in kinds for record in history.finished(kind)]
    return max(record.sequence for record in records)


def _points(record: Record, curve: Callable[[Pretraining], Curve]) -> Curve:
    return curve(record.result) if isinstance(record.result, Pretraining) else ()
