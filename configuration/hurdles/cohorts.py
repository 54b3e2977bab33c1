"""Successive halving of a cohort: when every member has reached the rung or ended, the best of them go on."""

from collections.abc import Iterable

from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population, State, TrialView


def best_of_cohorts(population: Population, keep: float) -> dict[str, HurdleDecision]:
    """Return the decisions on every cohort that is complete at a rung: the share `keep` of it goes on, one at least.

    The threshold is the value of the last that goes on; ties with it go on too. It is set once: a member that failed
    and arrives later is compared with the threshold that the others met. A cohort of one has nothing to be compared
    with, and goes on without a threshold, which would be its own value.
    """
    verdicts: dict[str, HurdleDecision] = {}
    for cohort, level in sorted({(one.cohort, one.level) for one in population.waiting}):
        members = population.cohort(cohort)
        here = [one for one in members if one.state is State.WAITING and one.level == level]
        known = _recorded_threshold(members, level)
        if known is None and any(one.may_still_reach(level) for one in members):
            continue
        if len(members) == 1:
            verdicts |= {one.name: HurdleDecision(one.value is not None, one.value, None) for one in here}
            continue
        threshold, reference_trials = known or threshold_of(here, level, keep)
        verdicts |= {one.name: compared(one, threshold, reference_trials) for one in here}
    return verdicts


def threshold_of(members: Iterable[TrialView], level: int, keep: float) -> tuple[float | None, tuple[str, ...]]:
    """Return the value of the last that goes on, None where none is finite, and the trials with finite values."""
    values = {one.name: value for one in members if (value := one.value_at(level)) is not None}
    if not values:
        return None, ()
    places = max(1, int(len(values) * keep + 1e-9))  # a third of three is one
    return sorted(values.values())[places - 1], tuple(sorted(values))


def compared(one: TrialView, threshold: float | None, reference_trials: tuple[str, ...]) -> HurdleDecision:
    """Return the decision on a waiting trial against a threshold."""
    cleared = one.value is not None and threshold is not None and one.value <= threshold
    return HurdleDecision(cleared, one.value, threshold, reference_trials)


def _recorded_threshold(members: Iterable[TrialView], level: int) -> tuple[float | None, tuple[str, ...]] | None:
    for one in members:
        if one.level > level and one.verdicts[level].threshold is not None:
            return one.verdicts[level].threshold, one.verdicts[level].cohort
    return None
