"""History of a search from its ledger: the observations and the seeds of each candidate.

Trials have their values by metric, as in a report; no task below a reference is in the score.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from statistics import fmean

from runners.search.observations import Observation, Observer, shifted_by_baseline
from runners.stage_labels import all_labels
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.metrics import SCORE, objectives_in_effect
from steeplechase.configuration.seeds import first_seeds
from steeplechase.ledger.metrics import results_by_arm, values_of_trial
from steeplechase.ledger.records import KnownArm, TrialRow
from steeplechase.ledger.snapshot import shared_records
from steeplechase.ledger.task_references import references_of
from steeplechase.ledger.task_standing import standings, tasks_in_score
from steeplechase.ledger.trial_history import KnownRows, TrialHistory, histories_of

TrialValues = tuple[TrialRow, dict[str, float]]


class SearchHistory:
    """History of a search after the rows so far."""

    def __init__(self, experiment: Experiment, ledger: KnownRows) -> None:
        assert experiment.search is not None
        self._experiment, self._ledger, self._declared = experiment, ledger, experiment.search.objectives
        self.arms = tuple(arm for arm in ledger.arms() if arm.final_of is None)
        self.trials: dict[str, list[TrialRow]] = {arm.name: [] for arm in self.arms}
        for trial in ledger.trials():
            if trial.arm in self.trials:
                self.trials[trial.arm].append(trial)

    @cached_property
    def _histories(self) -> dict[str, TrialHistory]:
        return {history.trial.name: history for history in histories_of(self._ledger, ())}

    @cached_property
    def scored_tasks(self) -> tuple[str, ...]:
        """The tasks that the score is the mean of: those that are not below a reference over the trials so far."""
        if SCORE not in self._declared:
            return ()
        searched = [self._histories[trial.name] for trials in self.trials.values() for trial in trials]
        return scored_tasks(self._experiment, self._ledger, all_labels(self._experiment), searched)

    @cached_property
    def objectives(self) -> tuple[str, ...]:
        """The objectives that are optimised now: a score of no task is none. Empty where nothing is left."""
        comparable = self._experiment.pretraining.losses_compare
        return objectives_in_effect(self._declared, self.scored_tasks, comparable)

    @cached_property
    def _observer(self) -> Observer:
        return Observer(self._experiment, self.objectives, self.scored_tasks)

    @property
    def proposals(self) -> int:
        """Number of proposals: candidates, the baseline included, and repeats."""
        repeats = (trial for arm, trials in self.trials.items() if arm != BASELINE for trial in trials)
        return len(self.arms) + sum(trial.cohort is not None for trial in repeats)

    def next_seed(self, arm: str) -> int:
        """Return the seed of an arm's next repeat."""
        return max(self._seeds_of(arm)) + 1

    def missing_at_baseline(self, seeds: Iterable[int]) -> tuple[int, ...]:
        """Return the seeds at which the baseline has no trial."""
        return tuple(sorted({*seeds} - self._seeds_of(BASELINE)))

    def _seeds_of(self, arm: str) -> set[int]:
        used = (trial.seed for trial in self.trials.get(arm, []))
        return {*first_seeds(self._experiment.pretraining.seeds), *used}

    @property
    def baseline(self) -> Observation | None:
        """Observation of the baseline at the seeds of every candidate; None before it is declared."""
        return next((self._at_first_seeds(arm) for arm in self.arms if arm.name == BASELINE), None)

    @property
    def candidates(self) -> dict[str, Observation]:
        """The observation of every candidate at the first seeds, by name."""
        return {arm.name: self._at_first_seeds(arm) for arm in self.arms if arm.name != BASELINE}

    def observations(self) -> tuple[Observation, ...]:
        """Return the observations in the order of the proposals; a repeat is an observation of its own.

        A repeat has a seed that other candidates lack. Its observation is shifted to their seeds by the difference of
        the baseline, which has every seed.
        """
        by_cohort: list[tuple[int, Observation]] = []
        for arm in self.arms:
            by_cohort.append((arm.cohort, self._at_first_seeds(arm)))
            for trial in self.trials[arm.name] if arm.name != BASELINE else ():
                if trial.cohort is not None:
                    by_cohort.append((trial.cohort, self._repeat(arm, trial)))
        return tuple(observation for _, observation in sorted(by_cohort, key=lambda item: item[0]))

    def _at_first_seeds(self, arm: KnownArm) -> Observation:
        return self._observation(arm, [trial for trial in self.trials[arm.name] if trial.cohort is None])

    def _repeat(self, arm: KnownArm, trial: TrialRow) -> Observation:
        baseline = next(each for each in self.arms if each.name == BASELINE)
        trials = [each for each in self.trials[BASELINE] if each.seed == trial.seed]
        from_baseline = self._observation(baseline, trials) if trials else Observation({}, (), False)
        observation = self._observation(arm, [trial])
        return shifted_by_baseline(observation, from_baseline, self._at_first_seeds(baseline), self.objectives)

    def _observation(self, arm: KnownArm, trials: list[TrialRow]) -> Observation:
        histories = [self._histories[trial.name] for trial in trials]
        return self._observer.observation(arm, histories, proposed=arm.name != BASELINE)


def scored_trials(
    experiment: Experiment, rows: KnownRows, labels: tuple[str, ...], arms: frozenset[str]
) -> tuple[TrialValues, ...]:
    """Return every trial of some arms with its values: means over fine-tuning seeds."""
    trials = histories_of(rows, labels, arms)
    return tuple(_values(experiment, trials, labels, scored_tasks(experiment, rows, labels, trials)))


def scored_tasks(
    experiment: Experiment, rows: KnownRows, labels: tuple[str, ...], trials: Sequence[TrialHistory]
) -> tuple[str, ...]:
    """Return the tasks that the score is the mean of: those that are not below a reference over some trials."""
    tasks, primary = experiment.fine_tuning.tasks, experiment.fine_tuning.primary_metric
    values, _ = results_by_arm(_values(experiment, trials, labels, ()))
    return tasks_in_score(tasks, standings(references_of(shared_records(rows), primary, tasks), values, tasks))


def _values(
    experiment: Experiment, trials: Sequence[TrialHistory], labels: tuple[str, ...], scored: tuple[str, ...]
) -> Iterator[TrialValues]:
    tasks, primary = experiment.fine_tuning.tasks, experiment.fine_tuning.primary_metric
    for history in trials:
        by_metric = values_of_trial(history, labels, tasks, primary, scored)
        yield history.trial, {metric: fmean(values) for metric, values in by_metric}
