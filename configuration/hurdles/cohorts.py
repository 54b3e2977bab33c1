"""A cohort judged as a whole: once every member is at the mark or out, the best of them go on together."""

from collections.abc import Iterable

from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import Population, State, TrialView


def best_of_cohorts(field: Population, keep: float) -> dict[str, HurdleDecision]:
    """Return the verdicts of every cohort that is complete at a mark: the share `keep` of it goes on, one at least.

    The bar is the value of the last that goes on, so that nobody outside beats anybody inside; of those level with
    it all go on. It is set once: a member that failed and comes later meets the bar that the others have met. A
    cohort of one has nobody to be compared with, and goes on without a bar: it would be its own value.
    """
    verdicts: dict[str, HurdleDecision] = {}
    for cohort, level in sorted({(one.cohort, one.level) for one in field.waiting}):
        members = field.cohort(cohort)
        here = [one for one in members if one.state is State.WAITING and one.level == level]
        known = _bar_that_stands(members, level)
        if known is None and any(one.may_still_reach(level) for one in members):
            continue
        if len(members) == 1:
            verdicts |= {one.name: HurdleDecision(one.value is not None, one.value, None) for one in here}
            continue
        bar, reference_trials = known or bar_of(here, level, keep)
        verdicts |= {one.name: against(one, bar, reference_trials) for one in here}
    return verdicts


def bar_of(members: Iterable[TrialView], level: int, keep: float) -> tuple[float | None, tuple[str, ...]]:
    """Return the value of the last that goes on, None where nobody has a number, and everyone who has one."""
    values = {one.name: value for one in members if (value := one.value_at(level)) is not None}
    if not values:
        return None, ()
    places = max(1, int(len(values) * keep + 1e-9))  # a third of three is one
    return sorted(values.values())[places - 1], tuple(sorted(values))


def against(one: TrialView, bar: float | None, reference_trials: tuple[str, ...]) -> HurdleDecision:
    """Return the verdict of one who waits before a bar."""
    cleared = one.value is not None and bar is not None and one.value <= bar
    return HurdleDecision(cleared, one.value, bar, reference_trials)


def _bar_that_stands(members: Iterable[TrialView], level: int) -> tuple[float | None, tuple[str, ...]] | None:
    for one in members:
        if one.level > level and one.verdicts[level].threshold is not None:
            return one.verdicts[level].threshold, one.verdicts[level].cohort
    return None
