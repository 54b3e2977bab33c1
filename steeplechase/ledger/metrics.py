"""Values of a trial on every metric that arms are compared on, from finished records, and those of arms by seed.

A held-out loss counts only at the end of the full budget, so that equal tokens are compared; a task counts when all
its fine-tuning seeds are finished. The score is the mean over the tasks.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from statistics import fmean

from steeplechase.analysis.difference import NestedValues, SeedValues
from steeplechase.configuration.measurements.attention import ALL, AttentionResult
from steeplechase.configuration.metrics import ATTENTION_DIAGONAL, HELD_OUT_LOSS, SCORE, PrimaryMetric
from steeplechase.configuration.next_seeds import Values
from steeplechase.configuration.stage_label import PRETRAIN, StageLabel, fine_tuning_cells, pretraining_marks
from steeplechase.ledger.records import Record, TrialRow, final_loss_of, with_results
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import FineTuneResult
from steeplechase.ledger.trial_history import TrialHistory, chosen_records
from steeplechase.tasks.glue.scores import glue_scores


def values_of_trial(
    history: TrialHistory,
    labels: tuple[str, ...],
    tasks: tuple[str, ...],
    primary: PrimaryMetric,
    scored: tuple[str, ...] | None = None,
) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield every metric of the trial so far, with one value per fine-tuning seed.

    `task` names a task's primary metric, `task:metric` a further one. The score is the mean over the tasks of
    `scored`, by default over all; a task whose dev examples give its metric no value is no part of it.
    """
    loss = final_loss(history, labels)
    if loss is not None:
        yield HELD_OUT_LOSS, (loss,)
    attention = attention_of(history)
    concentration = attention.concentration(ALL) if attention is not None else None
    if concentration is not None:
        yield ATTENTION_DIAGONAL, (concentration,)
    task_values: dict[str, tuple[float, ...]] = {}
    for task in tasks:
        for metric, values in _task_values(history, labels, task):
            task_values[task if metric == primary(task) else f"{task}:{metric}"] = values
    yield from task_values.items()
    yield from _glue(task_values)
    undefined = _without_value(history)
    in_score = [task for task in (tasks if scored is None else scored) if (task, primary(task)) not in undefined]
    if in_score and all(task in task_values for task in in_score):
        yield SCORE, _mean_over_tasks([task_values[task] for task in in_score])


def attention_of(history: TrialHistory) -> AttentionResult | None:
    """Return a trial's measured attention, None if it was not measured or is not finite."""
    measured = [result for _, result in with_results(history.records, AttentionResult)]
    return measured[-1] if measured and measured[-1].is_finite else None


def _without_value(history: TrialHistory) -> set[tuple[str, str]]:
    """Return the tasks with the metrics that their dev examples give no value."""
    results = (result for _, result in with_results(history.records, FineTuneResult))
    return {(result.task, metric) for result in results for metric in result.without_value or ()}


def _glue(task_values: Mapping[str, tuple[float, ...]]) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield GLUE's scores, one value per fine-tuning seed."""
    seeds = min(map(len, task_values.values()), default=0)
    by_seed = [
        dict(glue_scores({name: values[seed] for name, values in task_values.items()})) for seed in range(seeds)
    ]
    for name in by_seed[0] if by_seed else ():
        yield name, tuple(scores[name] for scores in by_seed)


def _mean_over_tasks(values_by_task: list[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the mean over the tasks, per fine-tuning seed if all tasks have equally many."""
    if len({len(values) for values in values_by_task}) > 1:
        return (fmean(map(fmean, values_by_task)),)
    return tuple(map(fmean, zip(*values_by_task, strict=True)))


def final_loss(history: TrialHistory, labels: tuple[str, ...]) -> float | None:
    """Return the held-out loss after the full budget, None if the trial has not spent it."""
    record = final_record(history, labels)
    return None if record is None else final_loss_of(record)


def final_record(history: TrialHistory, labels: tuple[str, ...]) -> Record | None:
    """Return the record of the last pretraining stage, None if the trial has not spent its budget."""
    marks, finished = pretraining_marks(labels), history.finished(PRETRAIN)
    if not finished or (marks and marks[-1] != finished[-1].label):
        return None
    return finished[-1]


def _task_values(
    history: TrialHistory, labels: tuple[str, ...], task: str
) -> Iterator[tuple[str, tuple[float, ...]]]:
    chosen = with_results(chosen_records(history.records, labels), FineTuneResult)
    results = {record.label: result for record, result in chosen if result.task == task}
    expected = {cell for cell in fine_tuning_cells(labels) if cell.task == task}
    if not results or expected - {StageLabel.parse(label).cell for label in results}:
        return
    scores_by_seed = [results[label].finite_scores for label in sorted(results)]
    for metric in sorted(set.intersection(*map(set, scores_by_seed))):
        yield metric, tuple(scores[metric] for scores in scores_by_seed)


def results_by_arm(trials: Iterable[tuple[TrialRow, Mapping[str, float]]]) -> tuple[Values, Mapping[str, Set[int]]]:
    """Return the values and the seeds by arm, in the arms' order, from the trials' values by metric.

    A trial without a value on a metric diverged before that metric was measured.
    """
    values: dict[str, dict[str, dict[int, float]]] = {}
    run: dict[str, set[int]] = {}
    for row, metrics in trials:
        run.setdefault(row.arm, set()).add(row.seed)
        arm_values = values.setdefault(row.arm, {})
        for metric, value in metrics.items():
            arm_values.setdefault(metric, {})[row.seed] = value
    return values, run


ArmValues = Mapping[str, Mapping[str, SeedValues]]
"""Arm -> metric -> pretraining seed -> value."""

NestedArmValues = Mapping[str, Mapping[str, NestedValues]]
"""Arm -> metric -> pretraining seed -> one value per fine-tuning seed."""


def nested_values_of(
    snapshot: Snapshot, tasks: Iterable[str], primary: PrimaryMetric, scored: tuple[str, ...] | None = None
) -> NestedArmValues:
    """Return every measured value; the score is over the tasks of `scored`, by default over all.

    An arm whose held-out loss is another than the baseline's has no value of it.
    """
    task_names = tuple(tasks)
    values: dict[str, dict[str, dict[int, tuple[float, ...]]]] = {arm.name: {} for arm in snapshot.arms}
    other_loss = snapshot.arms_with_other_loss
    for history in snapshot.histories:
        by_metric = values.setdefault(history.trial.arm, {})
        for metric, fine_tuning_values in values_of_trial(history, snapshot.labels, task_names, primary, scored):
            if metric == HELD_OUT_LOSS and history.trial.arm in other_loss:
                continue
            by_metric.setdefault(metric, {})[history.trial.seed] = fine_tuning_values
    return values


def means_of(nested: NestedArmValues) -> ArmValues:
    """Return one value per pretraining seed: the mean over its fine-tuning seeds."""
    return {
        arm: {
            metric: {seed: fmean(values) for seed, values in sample.items()} for metric, sample in by_metric.items()
        }
        for arm, by_metric in nested.items()
    }
