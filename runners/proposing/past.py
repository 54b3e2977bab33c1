"""A search's past, read from its ledger: what each candidate achieved, and how many seeds it has had."""

from runners.asked.experiment import Experiment
from runners.asked.sequential import first_seeds
from runners.designs.arm import BASELINE
from runners.evidence.achievements import achieved
from runners.evidence.standing import TrialHistory, histories_of
from runners.kept.ledger import Ledger
from runners.kept.records import TrialRow
from runners.proposing.sampling import Seen


class Past:
    """The ledger of a search, read at one moment."""

    def __init__(self, experiment: Experiment, ledger: Ledger) -> None:
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
        return len(self.arms) + sum(trial.cohort is not None for of_arm in self.trials.values() for trial in of_arm)

    def next_seed(self, arm: str) -> int:
        """Return the seed of an arm's next repeat."""
        seeds = [
            *first_seeds(self._experiment.pretraining.seeds),
            *(trial.seed for trial in self.trials.get(arm, [])),
        ]
        return max(seeds) + 1

    def seen(self) -> tuple[Seen, ...]:
        """Return what was achieved in the order in which it was proposed; a repeat stands for itself."""
        told: list[tuple[int, Seen]] = []
        for arm in self.arms:
            first = [self._histories[trial.name] for trial in self.trials[arm.name] if trial.cohort is None]
            proposed = arm.name != BASELINE
            told.append((arm.cohort, achieved(self._experiment, arm, first, self._objectives, proposed)))
            for trial in self.trials[arm.name]:
                if trial.cohort is not None:
                    repeat = achieved(
                        self._experiment, arm, [self._histories[trial.name]], self._objectives, proposed
                    )
                    told.append((trial.cohort, repeat))
        return tuple(seen for _, seen in sorted(told, key=lambda one: one[0]))
