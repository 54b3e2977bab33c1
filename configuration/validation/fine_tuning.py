"""Validation rules of `fine_tuning` beyond its types: settings of single tasks, and the search."""

from collections.abc import Iterator

from configuration.experiment import Experiment
from configuration.fine_tuning import SettingsSearch, TaskTraining
from configuration.fine_tuning_runs import is_frozen, settings_of
from foundation.errors import Violation
from tasks.downstream import find_task, task_names


def fine_tuning_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the violations in settings of single tasks and in the search."""
    tuning, probe = experiment.fine_tuning, experiment.pretraining.hurdle.probe
    used = (*tuning.tasks, *([probe.task] if probe else []))
    for task, overrides in tuning.by_task.items():
        location = ("by_task", task)
        if task not in used:
            allowed = ", ".join(used) or "none, fine_tuning.tasks is empty"
            yield Violation(location, f"is not among the tasks; allowed: {allowed}")
        elif overrides.swap_pairs and task in task_names() and not find_task(task).unordered:
            yield Violation((*location, "swap_pairs"), f"the pairs of {task} are ordered and cannot be swapped")
        message = experiment.baseline.architecture.too_long(settings_of(tuning, task).sequence_length)
        if overrides.sequence_length is not None and message:
            yield Violation((*location, "sequence_length"), message)
    yield from _frozen_violations(experiment)
    if tuning.search is not None:
        yield from (violation.under("search") for violation in _search_violations(tuning.search))


def _frozen_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield untrained encoders of equal seeds, and settings that a frozen encoder does not have."""
    tuning = experiment.fine_tuning
    for position, seed in enumerate(tuning.untrained_seeds):
        if seed in tuning.untrained_seeds[:position]:
            yield Violation(("untrained_seeds", position), f"{seed!r} is listed twice")
    for task, otherwise in tuning.by_task.items():
        for name in sorted(otherwise.changes.keys() & TaskTraining.model_fields.keys()) if is_frozen(task) else ():
            message = f"changes nothing: {task} is evaluated on the frozen encoder, which is not trained"
            yield Violation(("by_task", task, name), message)


def _search_violations(search: SettingsSearch) -> Iterator[Violation]:
    axes: dict[str, tuple[float, ...]] = {
        "peak_learning_rate": search.peak_learning_rate,
        "weight_decay": search.weight_decay,
        "epochs": search.epochs,
    }
    if not any(axes.values()):
        yield Violation((), f"no values to search; give at least one list of {', '.join(axes)}")
    for name, values in axes.items():
        for position, value in enumerate(values):
            if value in values[:position]:
                yield Violation((name, position), f"{value!r} is listed twice")
            if value < 0:
                yield Violation((name, position), f"{value!r} is below 0")
