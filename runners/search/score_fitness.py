"""The fitness of candidates in an evolution by score: the mean over the tasks above their references, sign changed.

Which tasks are above is tested over the baseline and the candidates so far, while the first generation finishes; a
later generation is bred by what the first one has shown. While no task is, the fitness is the held-out loss.
"""

from collections.abc import Mapping, Sequence
from math import inf
from statistics import fmean

from runners.stage_labels import fine_tune_labels
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.selected_settings import score_of
from steeplechase.ledger.task_references import TaskReferences
from steeplechase.ledger.task_standing import standings, tasks_in_score


class ScoreFitness:
    """Collects the fine-tunings of trials; smaller values are fitter, and a diverged fine-tuning is the worst."""

    def __init__(self, experiment: Experiment, references: Mapping[str, TaskReferences]) -> None:
        self._tasks, self._references = experiment.fine_tuning.tasks, references
        self._comparable = experiment.pretraining.evaluation_sets == "shared"
        self._labels = fine_tune_labels(experiment)
        self._of_task = {
            task: tuple(label for label in self._labels if StageLabel.parse(label).task == task)
            for task in self._tasks
        }
        self._records: dict[str, dict[str, Record]] = {}
        """By trial and label."""
        self._losses: dict[str, float] = {}
        self._scores: dict[str, dict[str, dict[int, float]]] = {}
        """By arm, task and seed."""
        self._scored = self._tasks

    def add(self, record: Record) -> None:
        """Add a record; those that are no fine-tuning of the search, or that the next run repeats, change nothing."""
        if record.trial is None or record.label not in self._labels or record.status is Status.FAILED:
            return
        records = self._records.setdefault(record.trial, {})
        records[record.label] = record
        arm, _, seed = record.trial.rpartition("/")
        task = StageLabel.parse(record.label).task
        assert task is not None
        score = score_of(records.values(), self._of_task[task])
        if score is not None:
            self._scores.setdefault(arm, {}).setdefault(task, {})[int(seed)] = score

    def of(self, arm: str, seeds: Sequence[int], loss: float) -> float | None:
        """Return the fitness of a candidate that was trained to the end; None before its fine-tunings have ended."""
        if not all(set(self._labels) <= self._records.get(f"{arm}/{seed}", {}).keys() for seed in seeds):
            return None
        self._losses[arm] = loss
        return self.value(arm)

    def value(self, arm: str) -> float | None:
        """Return the fitness of a candidate by the tasks in effect; None of one without it, as of a diverged one."""
        if arm not in self._losses:
            return None
        if not self._scored:
            return self._losses[arm] if self._comparable else 0.0  # nothing tells candidates apart
        scores = [self._scores.get(arm, {}).get(task, {}) for task in self._scored]
        return -fmean(fmean(each.values()) for each in scores) if all(scores) else inf

    def changed(self) -> bool:
        """Test every task against its references; return whether others are in the score than before."""
        before, found = self._scored, standings(self._references, self._scores, self._tasks)
        self._scored = tasks_in_score(self._tasks, found)
        return self._scored != before
