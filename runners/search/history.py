"""A search's past, read from its ledger: what each candidate observed, and how many seeds it has had."""

from collections.abc import Iterable

from configuration.arm import BASELINE
from configuration.experiment import Experiment
from configuration.seeds import first_seeds
from ledger.database import LedgerRows
from ledger.records import ArmRow, TrialRow
from ledger.snapshot import TrialHistory, histories_of
from runners.search.observations import at_the_same_seeds, observed
from runners.search.optuna_sampler import Observation


class SearchHistory:
    """The rows of a search at one moment."""

    def __init__(self, experiment: Experiment, ledger: LedgerRows) -> None:
        assert experiment.search is not None
        self._experiment, self._objectives = experiment, experiment.search.objectives
        self.arms = ledger.arms()
        self.trials: dict[str, list[TrialRow]] = {arm.name: [] for arm in self.arms}
        self._histories: dict[str, TrialHistory] = {one.trial.name: one for one in histories_of(ledger, ())}
        for trial in ledger.trials():
            self.trials[trial.arm].append(trial)

    @property
    def proposals(self) -> int:
        """How often something was tried: candidates, the baseline among them, and repeats."""
        repeats = (trial for arm, of_arm in self.trials.items() if arm != BASELINE for trial in of_arm)
        return len(self.arms) + sum(trial.cohort is not None for trial in repeats)

    def next_seed(self, arm: str) -> int:
        """Return the seed of an arm's next repeat."""
        return max(self._seeds_of(arm)) + 1

    def missing_at_baseline(self, seeds: Iterable[int]) -> tuple[int, ...]:
        """Return those of the seeds at which the baseline has no trial."""
        return tuple(sorted({*seeds} - self._seeds_of(BASELINE)))

    def _seeds_of(self, arm: str) -> set[int]:
        known = (trial.seed for trial in self.trials.get(arm, []))
        return {*first_seeds(self._experiment.pretraining.seeds), *known}

    @property
    def baseline(self) -> Observation | None:
        """What the baseline observed at the seeds that every candidate has; None before it is declared."""
        return next((self._first(arm) for arm in self.arms if arm.name == BASELINE), None)

    def seen(self) -> tuple[Observation, ...]:
        """Return what was observed in the order in which it was proposed; a repeat counts by itself.

        A repeat has a seed that other candidates do not have. It is given as it would be at theirs: the baseline,
        which has every seed, shows by how much seeds differ.
        """
        achieved_in: list[tuple[int, Observation]] = []
        for arm in self.arms:
            achieved_in.append((arm.cohort, self._first(arm)))
            for trial in self.trials[arm.name] if arm.name != BASELINE else ():
                if trial.cohort is not None:
                    achieved_in.append((trial.cohort, self._repeat(arm, trial)))
        return tuple(seen for _, seen in sorted(achieved_in, key=lambda one: one[0]))

    def _first(self, arm: ArmRow) -> Observation:
        return self._achieved(arm, [trial for trial in self.trials[arm.name] if trial.cohort is None])

    def _repeat(self, arm: ArmRow, trial: TrialRow) -> Observation:
        baseline = next(one for one in self.arms if one.name == BASELINE)
        there = [one for one in self.trials[BASELINE] if one.seed == trial.seed]
        at_this_seed = self._achieved(baseline, there) if there else Observation({}, (), False)
        mine = self._achieved(arm, [trial])
        return at_the_same_seeds(mine, at_this_seed, self._first(baseline), self._objectives)

    def _achieved(self, arm: ArmRow, trials: list[TrialRow]) -> Observation:
        histories = [self._histories[trial.name] for trial in trials]
        return observed(self._experiment, arm, histories, self._objectives, arm.name != BASELINE)
