"""The stages of trials, from the rows of their arms.

A candidate and its stages are ten times as large as all else that is known of a trial. Of a search, those of trials
that have ended are dropped, and built again from the changes of the arm when asked for.
"""

from collections.abc import Iterable, Mapping

from runners.dag import SharedStages
from runners.scheduling.trial import TrialPlan
from runners.stage_labels import hurdle_labels, pretrain_labels, scored_at_end
from runners.stages.stage import Stage
from runners.stages.word_embeddings import WordEmbeddingsStage
from runners.work_queue import StageTask
from search_space.candidate import Candidate
from search_space.overrides import apply
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import settings_of
from steeplechase.configuration.stage_label import LONG_SEQUENCE_PHASE, UNPRUNED
from steeplechase.ledger.records import ArmWithoutCandidate, TrialRow


class TrialStages:
    """The arms that have entered, and the stages of their trials."""

    def __init__(self, experiment: Experiment, shared: SharedStages) -> None:
        self._experiment, self._shared = experiment, shared
        self._arms: dict[str, ArmWithoutCandidate] = {}
        self._candidates: dict[str, Candidate] = {}
        self._stages: dict[str, Mapping[str, Stage]] = {}
        """By trial and label."""
        self._tuples: dict[tuple[str, ...], tuple[str, ...]] = {}
        """Tuples of labels, so that trials with equal ones share them."""

    def add_arm(self, row: ArmWithoutCandidate, candidate: Candidate) -> None:
        """Add an arm, before its trials."""
        self._arms[row.name], self._candidates[row.name] = row, candidate

    def plan(self, row: TrialRow) -> TrialPlan:
        """Return the plan of a new trial, and keep its stages."""
        arm = self._arms[row.arm]
        settings = settings_of(self._experiment, arm)
        return TrialPlan(
            row,
            arm.cohort if row.cohort is None else row.cohort,
            self._same(self.keep(row)),
            self._same(pretrain_labels(settings)),
            self._same(hurdle_labels(settings)),
            self._same(scored_at_end(settings)),
            gates=self._same((LONG_SEQUENCE_PHASE, UNPRUNED, *WordEmbeddingsStage.labels(settings))),
            probed=self._experiment.pretraining.hurdle.larger_is_better,
            exempt=arm.name == BASELINE or arm.final_of is not None,
            final=arm.final_of is not None,
        )

    def _same(self, labels: Iterable[str]) -> tuple[str, ...]:
        found = tuple(labels)
        return self._tuples.setdefault(found, found)

    def candidate(self, arm: str) -> Candidate:
        """Return the candidate of an arm."""
        kept = self._candidates.get(arm)
        return apply(self._experiment.baseline, self._arms[arm].changes) if kept is None else kept

    def of_seed(self, arm: str, seed: int) -> Mapping[str, Stage]:
        """Return new stages of an arm at a pretraining seed, by label."""
        settings = settings_of(self._experiment, self._arms[arm])
        return self._shared.of_trial(settings, self.candidate(arm), seed)

    def of(self, row: TrialRow) -> Mapping[str, Stage]:
        """Return the stages of a trial by label."""
        kept = self._stages.get(row.name)
        return self.of_seed(row.arm, row.seed) if kept is None else kept

    def tasks(self, row: TrialRow, labels: Iterable[str]) -> tuple[StageTask, ...]:
        """Return some stages of a trial."""
        stages = self.of(row)
        return tuple(StageTask(row.name, label, stages[label]) for label in labels)

    def keep(self, row: TrialRow) -> Mapping[str, Stage]:
        """Keep the stages of a trial that goes on, and return them."""
        if row.name not in self._stages:
            self._stages[row.name] = self.of_seed(row.arm, row.seed)
        return self._stages[row.name]

    def release(self, row: TrialRow) -> None:
        """Drop what is known of a trial that has ended, if it is of a search."""
        if self._experiment.search is not None and row.arm != BASELINE and self._arms[row.arm].final_of is None:
            self._stages.pop(row.name, None)
            self._candidates.pop(row.arm, None)
