"""Progressive Dynamic Hurdles. So et al. 2019, The Evolved Transformer, arXiv 1901.11117, section 4 and figure 2.

The first cohort trains to the first mark only, and its mean becomes the first hurdle. Every later candidate that
beats all hurdles so far trains to the next mark; a new hurdle is the mean of those that have reached the present
furthest mark. Fitness is the negative value, so a value clears a hurdle by being below the mean.
"""

from statistics import fmean
from typing import Literal

from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population, TrialView
from configuration.hurdles.rungs import Rungs


class ProgressiveMean(Rungs):
    """Hurdles at the token rungs, each the mean of candidates of earlier cohorts."""

    kind: Literal["progressive_mean"] = "progressive_mean"
    """Chooses Progressive Dynamic Hurdles."""
    population: Literal["first_cohort", "all_so_far"] = "first_cohort"
    """Whose mean a hurdle is: of the first cohort that reached its mark, and then it never moves; or of everyone of
    earlier cohorts who has, and then it falls as the search gets better. The paper says "the current population"."""

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a decision for every waiting trial.

        Where no trial of an earlier cohort has reached the rung there is no threshold yet, and the trial stops here:
        it is one of those that set it.
        """
        return {one.name: self._judge(one, population) for one in population.waiting}

    def _judge(self, one: TrialView, population: Population) -> HurdleDecision:
        threshold, cohort = self._recorded(one, population) or self._set(one, population)
        if threshold is None:
            return HurdleDecision(False, one.value, None)
        return HurdleDecision(one.value is not None and one.value < threshold, one.value, threshold, cohort)

    def _recorded(self, one: TrialView, population: Population) -> tuple[float | None, tuple[str, ...]] | None:
        """Return a threshold that is set already, None where it has still to be set, or moves."""
        if self.population == "all_so_far":
            return None
        for other in population.trials:
            if other.level > one.level and other.verdicts[one.level].threshold is not None:
                return other.verdicts[one.level].threshold, other.verdicts[one.level].cohort
        return None

    def _set(self, one: TrialView, population: Population) -> tuple[float | None, tuple[str, ...]]:
        """Return the mean of those that have reached the rung; the baseline counts at the first rung alone."""
        reached: dict[int, dict[str, float]] = {}
        for other in population.trials:
            value = other.value_at(one.level)
            if other.cohort < one.cohort and value is not None and not (other.exempt and one.level):
                reached.setdefault(other.cohort, {})[other.name] = value
        if not reached:
            return None, ()
        first = reached[min(reached)]
        values = (
            first if self.population == "first_cohort" else {n: v for of in reached.values() for n, v in of.items()}
        )
        return fmean(values[name] for name in sorted(values)), tuple(sorted(values))
