"""One value per arm, metric and pretraining seed, read from finished records and from nothing else.

A held-out loss counts at the end of the whole budget only, so that equal tokens are compared; a task counts once
all its fine-tuning seeds are in, and then as their mean.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import fmean

from reports.effects import SeedValues
from reports.metrics import HELD_OUT_LOSS, SCORE
from reports.reading import number, numbers
from runners.records import Record
from runners.standing import Snapshot, TrialHistory

ArmValues = Mapping[str, Mapping[str, SeedValues]]
"""Arm -> metric -> pretraining seed -> value."""

PrimaryMetric = Callable[[str], str]
"""From a task's name to the metric that speaks for it."""

PRETRAIN = "pretrain"


def values_of(snapshot: Snapshot, tasks: Iterable[str], primary: PrimaryMetric) -> ArmValues:
    """Return every measured value."""
    known = tuple(tasks)
    values: dict[str, dict[str, dict[int, float]]] = {arm.name: {} for arm in snapshot.arms}
    for history in snapshot.histories:
        of_arm = values.setdefault(history.trial.arm, {})
        for metric, value in _trial_values(history, snapshot.labels, known, primary):
            of_arm.setdefault(metric, {})[history.trial.seed] = value
    return values


def _trial_values(
    history: TrialHistory, labels: tuple[str, ...], tasks: tuple[str, ...], primary: PrimaryMetric
) -> Iterator[tuple[str, float]]:
    loss = final_loss(history, labels)
    if loss is not None:
        yield HELD_OUT_LOSS, loss
    of_tasks: dict[str, float] = {}
    for task in tasks:
        for metric, value in _task_values(history, labels, task):
            of_tasks[task if metric == primary(task) else f"{task}:{metric}"] = value
    yield from of_tasks.items()
    if tasks and all(task in of_tasks for task in tasks):
        yield SCORE, fmean(of_tasks[task] for task in tasks)


def final_loss(history: TrialHistory, labels: tuple[str, ...]) -> float | None:
    """Return the held-out loss after the whole budget, None for a trial that has not spent it."""
    last = next((label for label in reversed(labels) if label.startswith(f"{PRETRAIN}@")), None)
    finished = history.finished(PRETRAIN)
    if not finished or last not in (None, finished[-1].label):
        return None
    return number(finished[-1].result.get("held_out_loss"))


def _task_values(history: TrialHistory, labels: tuple[str, ...], task: str) -> Iterator[tuple[str, float]]:
    records = [record for record in history.finished("fine_tune") if record.result.get("task") == task]
    expected = {label for label in labels if label.rpartition("#")[0] == task}
    if not records or expected - {record.label for record in records}:
        return
    scores = [_scores(record) for record in records]
    for metric in sorted(set.intersection(*map(set, scores))):
        yield metric, fmean(of_seed[metric] for of_seed in scores)


def _scores(record: Record) -> dict[str, float]:
    return numbers(record.result.get("scores"))
