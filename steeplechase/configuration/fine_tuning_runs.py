"""Fine-tuning runs of a trial: every task, seed and searched combination, with the task's own settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from steeplechase.configuration.fine_tuning import ChosenOn, FineTuning, TaskSettings
from steeplechase.configuration.stage_label import FINE_TUNE, StageLabel
from steeplechase.foundation.schema import JsonValue


@dataclass(frozen=True)
class FineTuningRun:
    """One fine-tuning of a trial: a task, a seed and the settings."""

    task: str
    seed: int
    """0 for a task that is evaluated on the frozen encoder: nothing is drawn."""
    settings: FineTuning
    """The task's own settings and the searched values are applied."""
    searched: Mapping[str, JsonValue]
    """The values of this combination; empty without a search."""
    chosen_on: ChosenOn | None

    @property
    def label(self) -> str:
        """The stage's name within its trial."""
        searched = tuple((name, str(value)) for name, value in self.searched.items())
        return str(StageLabel(FINE_TUNE, task=self.task, seed=self.seed, searched=searched))


def settings_of(tuning: FineTuning, task: str) -> FineTuning:
    """Return the settings of a task, without searched values."""
    overrides = tuning.by_task.get(task)
    return tuning if overrides is None else tuning.model_copy(update=overrides.changes)


def fine_tuning_runs(tuning: FineTuning) -> tuple[FineTuningRun, ...]:
    """Return every fine-tuning of a trial, by task, seed and combination; a task on the frozen encoder once."""
    return tuple(
        run
        for task in sorted(tuning.tasks)
        for seed in ((0,) if is_frozen(tuning, task) else tuning.seeds)
        for run in _runs_of(tuning, task, seed)
    )


def is_frozen(tuning: FineTuning, task: str) -> bool:
    """Return whether a task is evaluated on the frozen encoder; an unknown one, which validation reports, is not."""
    return task in tuning.known_tasks and tuning.find(task).method != FINE_TUNE


def combinations_of(tuning: FineTuning, task: str) -> tuple[dict[str, JsonValue], ...]:
    """Return the combinations of searched settings of a task; empty without a search."""
    if tuning.search is None or is_frozen(tuning, task):
        return ()
    fixed = tuning.by_task.get(task, TaskSettings()).changes
    combinations = tuple(tuning.search.combinations(fixed))
    return combinations if combinations != ({},) else ()


def _runs_of(tuning: FineTuning, task: str, seed: int) -> Iterator[FineTuningRun]:
    settings = settings_of(tuning, task)
    combinations = combinations_of(tuning, task)
    if not combinations:
        yield FineTuningRun(task, seed, settings, {}, None)
    assert tuning.search is not None or not combinations
    for searched in combinations:
        chosen_on = tuning.search.choose_on if tuning.search else None
        yield FineTuningRun(task, seed, settings.model_copy(update=dict(searched)), searched, chosen_on)
