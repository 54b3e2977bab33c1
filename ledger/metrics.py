"""What a trial was measured to be: its values on every metric that arms are compared on, from finished records alone.

A held-out loss counts at the end of the whole budget only, so that equal tokens are compared; a task counts once
all its fine-tuning seeds are in. The score is the mean over the tasks.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from statistics import fmean

from configuration.metrics import ATTENTION_DIAGONAL, HELD_OUT_LOSS, SCORE, PrimaryMetric
from configuration.seeds import Values
from configuration.stage_label import PRETRAIN, StageLabel, fine_tuning_cells, pretraining_marks
from ledger.attention_locality import ALL, attention_of
from ledger.records import Record, TrialRow, final_loss_of, with_results
from ledger.selected_settings import chosen_records
from ledger.snapshot import TrialHistory
from ledger.stage_results import FineTuneResult
from tasks.glue.scores import glue_scores


def values_of_trial(
    history: TrialHistory, labels: tuple[str, ...], tasks: tuple[str, ...], primary: PrimaryMetric
) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield every metric that the trial has come to, with one value per fine-tuning seed.

    `task` names a task's primary metric, `task:metric` a further one.
    """
    loss = final_loss(history, labels)
    if loss is not None:
        yield HELD_OUT_LOSS, (loss,)
    attention = attention_of(history)
    concentration = attention.concentration(ALL) if attention is not None else None
    if concentration is not None:
        yield ATTENTION_DIAGONAL, (concentration,)
    of_tasks: dict[str, tuple[float, ...]] = {}
    for task in tasks:
        for metric, values in _task_values(history, labels, task):
            of_tasks[task if metric == primary(task) else f"{task}:{metric}"] = values
    yield from of_tasks.items()
    yield from _glue(of_tasks)
    if tasks and all(task in of_tasks for task in tasks):
        yield SCORE, _across([of_tasks[task] for task in tasks])


def _glue(of_tasks: Mapping[str, tuple[float, ...]]) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield GLUE's scores, one per fine-tuning seed; a task has as many values as there are such seeds."""
    seeds = min(map(len, of_tasks.values()), default=0)
    each = [dict(glue_scores({name: values[seed] for name, values in of_tasks.items()})) for seed in range(seeds)]
    for name in each[0] if each else ():
        yield name, tuple(of_seed[name] for of_seed in each)


def _across(of_tasks: list[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the mean over tasks, one per fine-tuning seed where every task has as many."""
    if len({len(values) for values in of_tasks}) > 1:
        return (fmean(map(fmean, of_tasks)),)
    return tuple(map(fmean, zip(*of_tasks, strict=True)))


def final_loss(history: TrialHistory, labels: tuple[str, ...]) -> float | None:
    """Return the held-out loss after the whole budget, None for a trial that has not spent it."""
    record = final_record(history, labels)
    return None if record is None else final_loss_of(record)


def final_record(history: TrialHistory, labels: tuple[str, ...]) -> Record | None:
    """Return the pretraining stage that ends the whole budget, None for a trial that has not spent it."""
    marks, finished = pretraining_marks(labels), history.finished(PRETRAIN)
    if not finished or (marks and marks[-1] != finished[-1].label):
        return None
    return finished[-1]


def _task_values(
    history: TrialHistory, labels: tuple[str, ...], task: str
) -> Iterator[tuple[str, tuple[float, ...]]]:
    chosen = with_results(chosen_records(history.records, labels), FineTuneResult)
    of_task = {record.label: result for record, result in chosen if result.task == task}
    expected = {cell for cell in fine_tuning_cells(labels) if cell.task == task}
    if not of_task or expected - {StageLabel.parse(label).cell for label in of_task}:
        return
    scores = [of_task[label].finite_scores for label in sorted(of_task)]
    for metric in sorted(set.intersection(*map(set, scores))):
        yield metric, tuple(of_seed[metric] for of_seed in scores)


def results_by_arm(trials: Iterable[tuple[TrialRow, Mapping[str, float]]]) -> tuple[Values, Mapping[str, Set[int]]]:
    """Return the values and the seeds by arm, in the arms' order, from what each trial was measured to be.

    A trial without a value on a metric diverged before it came to that.
    """
    values: dict[str, dict[str, dict[int, float]]] = {}
    run: dict[str, set[int]] = {}
    for row, found in trials:
        run.setdefault(row.arm, set()).add(row.seed)
        of_arm = values.setdefault(row.arm, {})
        for metric, value in found.items():
            of_arm.setdefault(metric, {})[row.seed] = value
    return values, run
