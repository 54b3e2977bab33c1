"""ASHA with checked rungs: a rung stops candidates only while earlier cohorts show that it ranks them rightly."""

import random

import pytest

from steeplechase.configuration.hurdles.cohorts import Asha
from steeplechase.configuration.hurdles.population import HurdleDecision, Population, State, TrialView
from steeplechase.configuration.hurdles.rank_checked import RankChecked
from tests.factories.populations import race, runners

RULE = RankChecked(rungs=(1, 2))
RANKED = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)]
REVERSED = [(4.0, 1.0), (3.0, 2.0), (2.0, 3.0), (1.0, 4.0)]


def decided(earlier: list[TrialView], level: int, value: float) -> HurdleDecision:
    """Return the decision on a trial of the second cohort."""
    past = (HurdleDecision(True, 9.0, None),) * level
    trial = TrialView("new", 1, State.WAITING, (9.0,) * level + (value,), past)
    return RULE.decide(Population((*earlier, trial)))["new"]


def ended(values: list[tuple[float, float]], finals: list[float | None]) -> list[TrialView]:
    past = (HurdleDecision(True, 1.0, None), HurdleDecision(True, 1.0, 1.0))
    return [
        TrialView(f"{place}", 0, State.DONE, each, past, final)
        for place, (each, final) in enumerate(zip(values, finals, strict=True))
    ]


def test_an_early_rung_is_used_while_it_ranks_as_the_last_one_does() -> None:
    no_finals: list[float | None] = [None] * 4
    assert decided(ended(RANKED, no_finals), 0, 5.0) == HurdleDecision(False, 5.0, 1.0, ("0", "1", "2", "3", "new"))
    assert decided(ended(REVERSED, no_finals), 0, 5.0) == HurdleDecision(True, 5.0, None)
    assert decided(ended(RANKED[:3], no_finals[:3]), 0, 5.0) == HurdleDecision(True, 5.0, None)  # too few
    assert decided(ended([(1.0, 1.0)] * 4, no_finals), 0, 5.0).cleared  # equal values have no ranks


def test_no_rung_is_used_where_the_last_one_ranks_unlike_the_final_losses() -> None:
    crossing: list[float | None] = [4.0, 3.0, 2.0, 1.0]
    for level in (0, 1):
        assert decided(ended(RANKED, crossing), level, 5.0) == HurdleDecision(True, 5.0, None)
        assert not decided(ended(RANKED, [1.0, 2.0, 3.0, 4.0]), level, 5.0).cleared
        assert not decided(ended(RANKED, [4.0, 3.0, 2.0, None]), level, 5.0).cleared  # three finals tell nothing


@pytest.mark.parametrize("seed", range(2))
def test_with_ranks_that_never_change_the_first_rung_is_that_of_asha_after_the_first_cohort(seed: int) -> None:
    chance = random.Random(seed)
    field = [[(value := chance.random(), value) for _ in range(5)] for _ in range(4)]
    found, expected = (
        race(rule, runners(field), random.Random(seed)) for rule in (RULE, Asha(rungs=(1, 2), reduction_factor=3.0))
    )
    first = {name for name in found if name.startswith("0-")}
    assert all(found[name][0].cleared for name in first)
    late = [name for name in found if name not in first]
    assert [found[name][0] for name in late] == [expected[name][0] for name in late]


def test_the_default_rungs_are_shares_of_the_budget() -> None:
    assert RankChecked().rungs_of(1_000_000) == (62500, 125000, 250000, 500000)
    assert RULE.rungs_of(1_000_000) == (1, 2)
