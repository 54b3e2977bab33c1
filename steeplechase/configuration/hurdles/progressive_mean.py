"""Progressive Dynamic Hurdles. So et al. 2019, The Evolved Transformer, arXiv 1901.11117, section 4 and figure 2.

The first cohort trains to the first rung only, and its mean becomes the first hurdle. Every later candidate that
clears all hurdles so far trains to the next rung; a new hurdle is the mean over the trials that have reached the last
rung so far. Fitness is the negative value, so a value clears a hurdle if it is below the mean.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from statistics import fmean
from typing import ClassVar, Literal

from steeplechase.configuration.hurdles.population import HurdleDecision, Population, Threshold, TrialView
from steeplechase.configuration.hurdles.rungs import Rungs
from steeplechase.foundation.schema import JsonValue


class ProgressiveMean(Rungs):
    """Hurdles at the token rungs, each the mean over candidates of earlier cohorts."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = (
        {"rungs": [1, 2]},
        {"rungs": [1, 2], "population": "all_so_far"},
    )
    kind: Literal["progressive_mean"] = "progressive_mean"
    """Chooses Progressive Dynamic Hurdles."""
    population: Literal["first_cohort", "all_so_far"] = "first_cohort"
    """Trials whose mean is the threshold. `first_cohort`: the first cohort that reached the rung, a fixed threshold;
    `all_so_far`: all trials of earlier cohorts that did, a threshold that falls as the search improves. The paper
    says "the current population"."""

    @property
    def fixes_thresholds(self) -> bool:
        """Whether the threshold is that of the first cohort."""
        return self.population == "first_cohort"

    def most_finished(self, cohorts: Sequence[int]) -> tuple[int, ...]:
        """Return the largest number of trials of each cohort that can finish: none of those that set the hurdles."""
        return tuple(0 if number < len(self.rungs) else size for number, size in enumerate(cohorts))

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a decision for every waiting trial.

        If no trial of an earlier cohort has reached the rung there is no threshold yet: the trial stops, and its
        value becomes part of the threshold.
        """
        return {trial.name: self._decision(trial, population) for trial in population.waiting}

    def _decision(self, trial: TrialView, population: Population) -> HurdleDecision:
        fixed = population.first_fixed(trial.level) if self.fixes_thresholds else None
        name = (self.kind, self.population, trial.level)
        mean = partial(self._mean_at, trial, population)
        threshold, references = fixed or population.found_before(trial.cohort, name, mean)
        if threshold is None:
            return HurdleDecision(False, trial.value, None)
        return HurdleDecision(trial.value is not None and trial.value < threshold, trial.value, threshold, references)

    def _mean_at(self, trial: TrialView, population: Population) -> Threshold:
        """Return the mean over the trials that have reached the rung; the baseline counts at the first rung only."""
        reached = population.values_before(trial)
        if not reached:
            return Threshold(None, 0)
        values = reached[min(reached)] if self.population == "first_cohort" else [*chain(*reached.values())]
        return Threshold(fmean(values), len(values))
