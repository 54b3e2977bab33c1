"""Asynchronous successive halving whose rungs are used only while their ranks are measured to be right.

The stopping rule is that of `asha` (Li et al. 2020, arXiv 1810.05934). An early rung is used while it ranks the
candidates of earlier cohorts as the last rung does, at half of a training by default; the last rung is used unless
the final losses of candidates that have finished show that it ranks wrongly. Where early losses say nothing, nearly
every candidate reaches the half. A rung that stops good candidates leaves alike ones, whose ranks then differ, and
goes out of use again. Earlier cohorts have ended, so that decisions do not depend on the order of arrival. Scores
of a probe are compared like losses; those at the last rung are checked, in a search by score, against the scores on
the probe's task after the whole training, and where that is no task of the search against the final held-out losses.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Annotated, Literal

from pydantic import Field

from steeplechase.configuration.hurdles.cohorts import ReductionFactor, compared, threshold_of
from steeplechase.configuration.hurdles.population import HurdleDecision, Population, TrialView
from steeplechase.configuration.hurdles.rungs import Rungs
from steeplechase.foundation.schema import Count

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Of a training, at which rungs stand by default; measured in docs/replay.md."""
FEWEST_COMPARED = 4
"""Candidates whose ranks are compared, at least; measured in docs/replay.md."""

Correlation = Annotated[float, Field(gt=0, le=1)]


class RankChecked(Rungs):
    """Continues the best 1/reduction_factor at rungs that rank candidates as the end of a training does."""

    kind: Literal["rank_checked"] = "rank_checked"
    """Chooses asynchronous successive halving with checked rungs."""
    rungs: tuple[Count, ...] = Field(default=(), examples=[[500000, 1000000]])
    """Token counts of the rungs, strictly increasing; the last one checks the others. Default: 1/16, 1/8, 1/4 and 1/2
    of the pretraining budget."""
    reduction_factor: ReductionFactor = 3.0
    """The best 1/reduction_factor continue (η). Default: 3; Li et al. 2018, section 3.6, advise 3 or 4."""
    correlation: Correlation = 0.9
    """Spearman's rank correlation with the last rung from which on an earlier rung is used, and of the last rung with
    the final values. Default: 0.9; measured in docs/replay.md."""

    def rungs_of(self, tokens: int) -> tuple[int, ...]:
        """Return the token counts of the rungs of a training."""
        return self.rungs or tuple(round(share * tokens) for share in SHARES)

    def decide(self, population: Population) -> dict[str, HurdleDecision]:
        """Return a decision for every waiting trial whose predecessors have all reached the rung or ended."""
        return {trial.name: self._decision(trial, population) for trial in population.decidable_in_order}

    def _decision(self, trial: TrialView, population: Population) -> HurdleDecision:
        """Return the decision of `asha` at a rung in use; a trial with a finite value clears any other rung."""
        if self._in_use(trial, population):
            return compared(trial, threshold_of(population.declared_up_to(trial), 1 / self.reduction_factor))
        return HurdleDecision(trial.value is not None, trial.value, None)

    def _in_use(self, trial: TrialView, population: Population) -> bool:
        last = len(self.rungs or SHARES) - 1
        of_last = _ranks_alike(population, trial.cohort, last, None)
        if of_last is not None and of_last < self.correlation:
            return False
        if trial.level == last:
            return True
        found = _ranks_alike(population, trial.cohort, trial.level, last)
        return found is not None and found >= self.correlation


def _ranks_alike(population: Population, cohort: int, first: int, second: int | None) -> float | None:
    """Return the rank correlation of two rungs, or of one and the end, over the cohorts before one."""
    return population.found_before(
        cohort, ("ranks", first, second), lambda: rank_correlation(population.pairs_before(cohort, first, second))
    )


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Spearman's rank correlation, None of fewer pairs than FEWEST_COMPARED; 0 where all values are equal."""
    if len(pairs) < FEWEST_COMPARED:
        return None
    import numpy as np  # which no plan needs

    def centred_ranks(values: "np.typing.NDArray[np.float64]") -> "np.typing.NDArray[np.int64]":
        """Return twice the ranks, less their mean; equal values share the mean of theirs."""
        _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        return (2 * np.cumsum(counts) - counts - len(values))[places]

    first, second = (centred_ranks(values) for values in np.array(pairs).T)
    spread = float(first @ first) * float(second @ second)
    return float(first @ second) / sqrt(spread) if spread else 0.0
