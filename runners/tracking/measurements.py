"""Curves and final values of trials and arms, as points of MLflow metrics.

MLflow's comparisons open with the metric sent first, or the first by name: a loss is the first of both.
The names are `final/…`, `further/…`, `held_out_loss_by_tokens`, `probe_score_by_tokens`, `size/…`, `task/…` and
`train_loss_by_tokens`, with `/TERM` for a term of that loss; the step of a curve is a count of tokens. Values have
all digits of the ledger.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean, stdev
from typing import TypeVar

from runners.tracking.mirrored_run import Point
from steeplechase.configuration import metrics
from steeplechase.configuration.stage_label import PRETRAIN, PROBE, fine_tuning_cells, pretraining_marks
from steeplechase.ledger.metrics import values_of_trial
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import Curve, FineTuneResult, Pretraining, finite, finite_points
from steeplechase.ledger.task_standing import task_standings, tasks_in_score
from steeplechase.ledger.trial_history import TrialHistory

HELD_OUT_LOSS = f"final/{metrics.HELD_OUT_LOSS}"
CURVES: Mapping[str, Callable[[Pretraining], Curve]] = {
    "held_out_loss_by_tokens": lambda result: result.held_out_curve,
    "train_loss_by_tokens": lambda result: result.train_curve,
}
AUDIT = "audit/"
"""Prefix of curves from the audit of the hurdles, which trains stopped trials to the end."""
PROBE_CURVE = "probe_score_by_tokens"
LONGEST_CURVE_POINTS = 200  # per trial and curve; more than a screen resolves

Item = TypeVar("Item")


def scored_tasks(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the tasks whose mean is the score, by the rule of the reports.

    None before all trials have ended or a limit has ended the run: whether a task counts depends on all arms.
    """
    tasks = tasks_of(snapshot.labels)
    if not tasks or not (snapshot.over or snapshot.stopped_by_limit):
        return ()
    return tasks_in_score(tasks, task_standings(snapshot, tasks, _primary_metric_in(snapshot.histories)))


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
    return {**CURVES, **{f"train_loss_by_tokens/{name}": partial(_term_curve, name) for name in terms}}


def _term_curve(name: str, result: Pretraining) -> Curve:
    return result.term_curves.get(name, ())


def final_values(history: TrialHistory, labels: tuple[str, ...], scored: tuple[str, ...]) -> dict[str, float]:
    """Return the final values of the trial, as in reports: means over fine-tuning seeds."""
    tasks, primary = tasks_of(labels), _primary_metric_in([history])
    found = values_of_trial(history, labels, tasks, primary, scored)
    means = {_key(metric, tasks, primary): finite(fmean(values)) for metric, values in found}
    return {key: value for key, value in means.items() if value is not None}


def tasks_of(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the tasks that trials are fine-tuned on."""
    return tuple(sorted({cell.task for cell in fine_tuning_cells(labels) if cell.task is not None}))


def arm_values(trials: Sequence[Mapping[str, float]]) -> Iterator[tuple[str, float]]:
    """Yield mean, n and sample standard deviation over the trials of an arm that have the value."""
    for key in sorted({key for trial in trials for key in trial}):
        values = [trial[key] for trial in trials if key in trial]
        yield key, fmean(values)
        yield f"{key}/n", len(values)
        if len(values) > 1:
            yield f"{key}/sd", stdev(values)


def probe_score(record: Record) -> float | None:
    """Return the score of a probe; None where it has none."""
    assert isinstance(record.result, FineTuneResult)
    own = record.result.primary_metric or metrics.primary_metric(record.result.task)
    return finite(record.result.scores.get(own))


def _primary_metric_in(histories: Iterable[TrialHistory]) -> metrics.PrimaryMetric:
    """Return the primary metric by task; the records of tasks that the experiment declares have it."""
    records = [record for history in histories for record in history.records]
    own = {result.task: result.primary_metric for _, result in with_results(records, FineTuneResult)}
    return lambda task: own.get(task) or metrics.primary_metric(task)


def _key(metric: str, tasks: Sequence[str], primary: metrics.PrimaryMetric) -> str:
    task, _, further = metric.partition(":")
    if task in tasks:
        return f"task/{task}/{further or primary(task)}"
    return f"{'final' if metric in (metrics.HELD_OUT_LOSS, metrics.SCORE) else 'further'}/{metric}"


def _points(record: Record, curve: Callable[[Pretraining], Curve]) -> Curve:
    return curve(record.result) if isinstance(record.result, Pretraining) else ()
