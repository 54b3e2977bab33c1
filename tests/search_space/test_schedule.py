"""Learning rates are a function of tokens, independent of the batch size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.training.loop import rate_at
from search_space.recipe import Recipe
from search_space.schedule import ConstantSchedule, LinearSchedule, Schedule

TOKENS = st.integers(1, 10**9)
SCHEDULES: st.SearchStrategy[Schedule] = st.builds(LinearSchedule, warmup_tokens=TOKENS) | st.builds(
    ConstantSchedule, warmup_tokens=TOKENS
)


@given(SCHEDULES, TOKENS, TOKENS)
def test_a_rate_is_a_share_of_the_peak(schedule: Schedule, tokens: int, total: int) -> None:
    assert 0 <= schedule.multiplier(tokens, total) <= 1


@given(TOKENS, TOKENS)
def test_warm_up_reaches_the_peak_and_stays(warmup: int, later: int) -> None:
    schedule = ConstantSchedule(warmup_tokens=warmup)
    assert schedule.multiplier(0, warmup) == 0
    assert schedule.multiplier(warmup, warmup) == 1
    assert schedule.multiplier(warmup + later, warmup) == 1


@given(TOKENS, TOKENS, st.integers(0, 10**9))
def test_the_linear_schedule_is_its_warm_up_times_a_straight_line(warmup: int, total: int, tokens: int) -> None:
    line = max(0.0, 1 - tokens / total)
    rising = ConstantSchedule(warmup_tokens=warmup).multiplier(tokens, total)
    assert LinearSchedule(warmup_tokens=warmup).multiplier(tokens, total) == pytest.approx(rising * line)


@given(SCHEDULES, st.integers(1, 64), st.integers(1, 64), st.integers(1, 10**6), st.integers(1, 10**6))
def test_equal_tokens_mean_equal_phase_whatever_the_batch(
    schedule: Schedule, batch: int, times: int, step: int, more: int
) -> None:
    small, large = (
        Recipe(sequence_length=8, batch_sequences=sequences, schedule=schedule)
        for sequences in (batch, batch * times)
    )
    horizon = large.tokens_per_step * (step + more)
    by_small, by_large = (
        rate_at(recipe, step * large.tokens_per_step // recipe.tokens_per_step - 1, horizon)
        for recipe in (small, large)
    )
    # the horizon is one update past the last, so that none is spent at a rate of 0: that is all the batch decides
    slack = small.peak_learning_rate * large.tokens_per_step / horizon
    assert by_small == pytest.approx(by_large, abs=slack)


@given(st.integers(1, 500), st.integers(1, 10**6))
def test_no_update_is_spent_at_a_rate_of_zero(steps: int, warmup: int) -> None:
    recipe = Recipe(sequence_length=8, batch_sequences=1, schedule=LinearSchedule(warmup_tokens=warmup))
    assert all(rate_at(recipe, step, steps * recipe.tokens_per_step) > 0 for step in range(steps))


@given(TOKENS, TOKENS, TOKENS)
def test_only_a_schedule_that_looks_ahead_depends_on_the_budget(warmup: int, budget: int, longer: int) -> None:
    constant, linear = ConstantSchedule(warmup_tokens=warmup), LinearSchedule(warmup_tokens=warmup)
    assert constant.horizon(budget) is None
    assert constant.multiplier(7, budget) == constant.multiplier(7, longer)
    assert linear.horizon(budget) == budget


@given(st.integers(1, 2**40), st.integers(8, 512), st.integers(1, 512))
def test_the_updates_of_a_budget_are_the_fewest_that_see_it_all(tokens: int, length: int, batch: int) -> None:
    recipe = Recipe(sequence_length=length, batch_sequences=batch)
    steps = recipe.steps(tokens)
    assert (steps - 1) * recipe.tokens_per_step < tokens <= steps * recipe.tokens_per_step
