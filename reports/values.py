"""One value per arm, metric and pretraining seed, read from finished records and from nothing else.

A held-out loss counts at the end of the whole budget only, so that equal tokens are compared; a task counts once
all its fine-tuning seeds are in, and then as their mean.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import fmean

from reports.attention_readings import ALL, attention_of
from reports.effects import SeedValues
from reports.metrics import ATTENTION_DIAGONAL, HELD_OUT_LOSS, SCORE
from reports.nested import NestedValues
from reports.reading import number, numbers
from runners.records import Record
from runners.standing import Snapshot, TrialHistory

ArmValues = Mapping[str, Mapping[str, SeedValues]]
"""Arm -> metric -> pretraining seed -> value."""

NestedArmValues = Mapping[str, Mapping[str, NestedValues]]
"""Arm -> metric -> pretraining seed -> one value per fine-tuning seed."""

PrimaryMetric = Callable[[str], str]
"""From a task's name to the metric that speaks for it."""

PRETRAIN = "pretrain"


def nested_values_of(snapshot: Snapshot, tasks: Iterable[str], primary: PrimaryMetric) -> NestedArmValues:
    """Return every measured value."""
    known = tuple(tasks)
    values: dict[str, dict[str, dict[int, tuple[float, ...]]]] = {arm.name: {} for arm in snapshot.arms}
    for history in snapshot.histories:
        of_arm = values.setdefault(history.trial.arm, {})
        for metric, found in _trial_values(history, snapshot.labels, known, primary):
            of_arm.setdefault(metric, {})[history.trial.seed] = found
    return values


def means_of(nested: NestedArmValues) -> ArmValues:
    """Return one value per pretraining seed: the mean over what is nested in it."""
    return {
        arm: {metric: {seed: fmean(values) for seed, values in sample.items()} for metric, sample in of_arm.items()}
        for arm, of_arm in nested.items()
    }


def _trial_values(
    history: TrialHistory, labels: tuple[str, ...], tasks: tuple[str, ...], primary: PrimaryMetric
) -> Iterator[tuple[str, tuple[float, ...]]]:
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
    if tasks and all(task in of_tasks for task in tasks):
        yield SCORE, _across([of_tasks[task] for task in tasks])


def _across(of_tasks: list[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the mean over tasks, one per fine-tuning seed where every task has as many."""
    if len({len(values) for values in of_tasks}) > 1:
        return (fmean(map(fmean, of_tasks)),)
    return tuple(map(fmean, zip(*of_tasks, strict=True)))


def final_loss(history: TrialHistory, labels: tuple[str, ...]) -> float | None:
    """Return the held-out loss after the whole budget, None for a trial that has not spent it."""
    last = next((label for label in reversed(labels) if label.startswith(f"{PRETRAIN}@")), None)
    finished = history.finished(PRETRAIN)
    if not finished or last not in (None, finished[-1].label):
        return None
    return number(finished[-1].result.get("held_out_loss"))


def _task_values(
    history: TrialHistory, labels: tuple[str, ...], task: str
) -> Iterator[tuple[str, tuple[float, ...]]]:
    records = [record for record in history.finished("fine_tune") if record.result.get("task") == task]
    expected = {label for label in labels if label.rpartition("#")[0] == task}
    if not records or expected - {record.label for record in records}:
        return
    scores = [_scores(record) for record in sorted(records, key=lambda record: record.label)]
    for metric in sorted(set.intersection(*map(set, scores))):
        yield metric, tuple(of_seed[metric] for of_seed in scores)


def _scores(record: Record) -> dict[str, float]:
    return numbers(record.result.get("scores"))
