"""Schedules: learning rates as a function of tokens, and shares of masked tokens that change."""

import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_space.architecture import Architecture
from search_space.batch_warm_up import BatchWarmUp
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel
from search_space.objective.masked_language_model import Masking, MaskRateSchedule
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.recipe import Recipe
from search_space.schedule import (
    ConstantSchedule,
    CosineSchedule,
    InverseSquareRootSchedule,
    LinearSchedule,
    WarmupStableDecaySchedule,
)
from search_space.schedule.option import ScheduleOption
from steeplechase.foundation.schema import options_of

TOKENS = st.integers(1, 10**9)
WARMUPS = st.just(0) | TOKENS
DRAWN: dict[type[ScheduleOption], st.SearchStrategy[ScheduleOption]] = {
    LinearSchedule: st.builds(LinearSchedule, warmup_tokens=WARMUPS),
    ConstantSchedule: st.builds(ConstantSchedule, warmup_tokens=WARMUPS),
    CosineSchedule: st.builds(CosineSchedule, warmup_tokens=WARMUPS),
    InverseSquareRootSchedule: st.builds(
        InverseSquareRootSchedule, warmup_tokens=WARMUPS, decay_from_tokens=st.none() | TOKENS
    ),
    WarmupStableDecaySchedule: st.builds(
        WarmupStableDecaySchedule, warmup_tokens=WARMUPS, decay_share=st.floats(0.01, 1)
    ),
}
ANY = st.one_of(*DRAWN.values())


def test_every_schedule_is_drawn() -> None:
    assert set(DRAWN) == set(options_of(ScheduleOption))


@given(ANY, TOKENS)
def test_a_rate_rises_to_the_end_of_the_warm_up_and_never_after(schedule: ScheduleOption, total: int) -> None:
    before = [schedule.warmup_tokens * step // 8 for step in range(9)]
    after = [schedule.warmup_tokens + total * step // 8 for step in range(9)]
    assert all(schedule.warm_up(one) <= schedule.warm_up(two) for one, two in pairwise(before))
    assert all(
        schedule.multiplier(two, total) <= schedule.multiplier(one, total) + 1e-12 for one, two in pairwise(after)
    )


@given(st.sampled_from([*DRAWN]), TOKENS)
def test_without_a_warm_up_the_first_rate_is_the_peak(kind: type[ScheduleOption], horizon_steps: int) -> None:
    more = {"decay_from_tokens": 8} if kind is InverseSquareRootSchedule else {}
    schedule = kind.model_validate({"warmup_tokens": 0, **more})
    recipe = Recipe(sequence_length=8, batch_sequences=1, schedule=schedule)
    assert [*recipe.violations()] == []
    assert recipe.rate_at(0, math.inf) == recipe.peak_learning_rate
    assert 0 < recipe.rate_at(0, horizon_steps * 8) <= recipe.peak_learning_rate


@given(TOKENS, TOKENS, st.integers(0, 10**9))
def test_the_linear_schedule_is_its_warm_up_times_a_straight_line(warmup: int, total: int, tokens: int) -> None:
    line = max(0.0, 1 - tokens / total)
    rising = ConstantSchedule(warmup_tokens=warmup).multiplier(tokens, total)
    assert LinearSchedule(warmup_tokens=warmup).multiplier(tokens, total) == pytest.approx(rising * line)


@given(st.integers(1, 2000), st.integers(1, 2000), st.integers(1, 10_000))
def test_the_inverse_square_root_is_that_of_the_transformer(width: int, warmup: int, step: int) -> None:
    """Vaswani et al. 2017, eq. 3: width ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)."""
    schedule = InverseSquareRootSchedule(warmup_tokens=warmup * 8)
    recipe = Recipe(
        sequence_length=8, batch_sequences=1, schedule=schedule, peak_learning_rate=(width * warmup) ** -0.5
    )
    expected = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
    assert recipe.rate_at(step - 1, math.inf) == pytest.approx(expected, rel=1e-12)


@given(WARMUPS, TOKENS)
def test_a_cosine_is_halfway_down_halfway_through(warmup: int, half: int) -> None:
    schedule = CosineSchedule(warmup_tokens=warmup)
    total = warmup + 2 * half
    assert schedule.multiplier(warmup + half, total) == pytest.approx(0.5)
    assert schedule.multiplier(total, total) == pytest.approx(0, abs=1e-12)


@given(WARMUPS, st.floats(0.01, 1), st.integers(1000, 10**9))
def test_the_stable_phase_is_constant_and_the_decay_a_straight_line(warmup: int, share: float, total: int) -> None:
    schedule = WarmupStableDecaySchedule(warmup_tokens=min(warmup, total // 1000), decay_share=share)
    start = math.floor((1 - share) * total)
    if start >= schedule.warmup_tokens:
        assert schedule.multiplier(start, total) == 1
    halfway = round(total * (1 - share / 2))
    assert schedule.multiplier(halfway, total) == pytest.approx(0.5, abs=1 / (share * total))
    assert schedule.multiplier(total, total) == 0


@given(ANY, st.integers(1, 64), st.integers(1, 64), st.integers(1, 10**6), st.integers(1, 10**6))
def test_equal_tokens_mean_equal_phase_whatever_the_batch(
    schedule: ScheduleOption, batch: int, times: int, step: int, more: int
) -> None:
    small, large = (
        Recipe(sequence_length=8, batch_sequences=sequences, schedule=schedule)
        for sequences in (batch, batch * times)
    )
    horizon = large.tokens_per_step * (step + more)
    by_small, by_large = (
        recipe.rate_at(step * large.tokens_per_step // recipe.tokens_per_step - 1, horizon)
        for recipe in (small, large)
    )
    # the horizon is one update past the last, so that none is spent at a rate of 0: that is all the batch decides
    steepest = max(1.0, horizon / max(1, horizon - schedule.warmup_tokens)) * 2 / getattr(schedule, "decay_share", 1)
    slack = steepest * small.peak_learning_rate * large.tokens_per_step / horizon
    assert by_small == pytest.approx(by_large, abs=slack)


def test_a_stable_rung_is_shared_and_the_decay_is_not() -> None:
    schedule = WarmupStableDecaySchedule(warmup_tokens=0, decay_share=0.2)
    assert schedule.horizon(1000, 800) is None
    assert schedule.horizon(1000, 801) == 1000
    assert LinearSchedule().horizon(1000, 1) == 1000
    assert ConstantSchedule().horizon(1000, 1000) is None


@pytest.mark.parametrize(
    ("fields", "path"), [({"warmup_tokens": 0}, "warmup_tokens"), ({"decay_from_tokens": 7}, "")]
)
def test_a_decay_without_a_beginning_is_refused(fields: dict[str, int], path: str) -> None:
    recipe = Recipe(schedule=InverseSquareRootSchedule.model_validate(fields))
    (violation,) = recipe.violations()
    assert violation.path == ("schedule", path or "decay_from_tokens")


@given(st.integers(1, 2**40), st.integers(8, 512), st.integers(1, 512))
def test_the_updates_of_a_budget_are_the_fewest_that_see_it_all(tokens: int, length: int, batch: int) -> None:
    recipe = Recipe(sequence_length=length, batch_sequences=batch)
    steps = recipe.steps(tokens)
    assert (steps - 1) * recipe.tokens_per_step < tokens <= steps * recipe.tokens_per_step


@pytest.mark.parametrize("share", [math.nan, math.inf, -1.0, "half", None])
def test_what_is_no_share_of_the_peak_is_told_with_the_schedule_and_the_place(share: object) -> None:
    odd = SimpleNamespace(kind="odd", multiplier=lambda tokens, total: share)
    recipe = Recipe(sequence_length=8, batch_sequences=2).model_copy(update={"schedule": odd})
    with pytest.raises(
        ValueError, match=f"recipe.schedule odd gives {share!r} after 64 tokens; a finite number from 0"
    ):
        recipe.rate_at(3, math.inf)


SMALL = Architecture(depth=1, width=16, embedding_width=16, heads=2, feed_forward_width=16, vocabulary_size=50)
RATES = st.floats(0.01, 0.95)


@st.composite
def objectives(draw: st.DrawFn) -> MaskedLanguageModel:
    schedule = MaskRateSchedule(
        initial_rate=draw(RATES),
        tokens=draw(st.integers(1, 20_000)),
        shape=draw(st.sampled_from(("linear", "cosine"))),
    )
    return MaskedLanguageModel(mask_rate=draw(RATES), mask_rate_schedule=schedule)


def test_it_is_the_schedule_of_the_paper() -> None:
    """Ankner et al. 2023: from p_i to p_f in a straight line, here 30% to 15%; half a cosine has the same middle."""
    for shape in ("linear", "cosine"):
        schedule = MaskRateSchedule(initial_rate=0.3, tokens=1000, shape=shape)
        assert [schedule.rate(0.15, tokens) for tokens in (0, 500, 1000, 2000)] == pytest.approx(
            [0.3, 0.225, 0.15, 0.15]
        )
    cosine = MaskRateSchedule(initial_rate=0.3, tokens=1000, shape="cosine")
    assert cosine.rate(0.15, 250) == pytest.approx(0.15 + 0.15 * (1 + math.cos(math.pi / 4)) / 2)


@given(objectives(), st.integers(0, 30_000), st.integers(8, 130))
def test_an_objective_at_some_tokens_masks_the_share_of_its_schedule(
    objective: MaskedLanguageModel, tokens: int, length: int
) -> None:
    schedule = objective.mask_rate_schedule
    assert schedule is not None
    there = objective.at(tokens)
    assert there.mask_rate_schedule is None
    assert there.mask_rate == schedule.rate(objective.mask_rate, tokens)
    last = [each for each in (0, *objective.changes(length)) if each <= tokens][-1]
    assert objective.at(last).masked_tokens(length) == there.masked_tokens(length)


@given(objectives(), st.integers(8, 64))
def test_masked_tokens_change_where_it_is_said(objective: MaskedLanguageModel, length: int) -> None:
    for tokens in objective.changes(length):
        assert objective.at(tokens).masked_tokens(length) != objective.at(tokens - 1).masked_tokens(length)


@given(objectives(), st.integers(1, 30_000), st.booleans())
def test_training_flops_are_the_sum_over_the_updates(
    objective: MaskedLanguageModel, tokens: int, growing: bool
) -> None:
    warm_up = BatchWarmUp(initial_sequences=2, tokens=5000) if growing else None
    recipe = Recipe(sequence_length=32, batch_sequences=6, batch_warm_up=warm_up)
    candidate = Candidate(architecture=SMALL, objective=objective, recipe=recipe)
    by_update = [
        3
        * len(recipe.batch_of(update))
        * objective.at(recipe.tokens_after(update)).forward_flops(SMALL, None, recipe.sequence_length)
        for update in range(recipe.steps(tokens))
    ]
    assert candidate.flops_of_updates(range(len(by_update)), None) == sum(by_update)
    assert candidate.train_flops(recipe.tokens_after(len(by_update)), SMALL) == sum(by_update)
    middle = len(by_update) // 2
    assert candidate.flops_of_updates(range(middle, len(by_update)), None) == sum(by_update[middle:])


def test_without_a_schedule_no_key_changes_and_with_one_held_out_masks_stay() -> None:
    plain = MaskedLanguageModel(mask_rate=0.2)
    scheduled = MaskedLanguageModel(mask_rate=0.2, mask_rate_schedule=MaskRateSchedule(initial_rate=0.4, tokens=64))
    assert "mask_rate_schedule" not in plain.model_dump(exclude_defaults=True)
    assert plain.at(5) is plain.settled is plain
    assert plain.changes(128) == ()
    assert scheduled.reference == plain.reference
    assert scheduled.settled == plain


def test_every_objective_that_masks_tokens_has_the_schedule() -> None:
    masking = [option for option in options_of(PretrainingObjective) if issubclass(option, Masking)]
    assert len(masking) > 10
    for option in masking:
        example = option.model_validate(
            {**option.examples[0], "mask_rate_schedule": {"initial_rate": 0.4, "tokens": 640}}
        )
        assert example.at(0).mask_rate == 0.4
        assert example.at(640) == example.settled == option.model_validate(option.examples[0])


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        (
            {"static_masks": 10},
            ("static_masks",),
            "10 masks of a sequence have one share; leave mask_rate_schedule out",
        ),
        ({"mask_rate": 0.3}, ("mask_rate_schedule", "initial_rate"), "0.3 is the mask_rate; leave the schedule out"),
    ],
)
def test_what_a_schedule_cannot_be_is_one_line(fields: dict[str, Any], path: tuple[str, ...], message: str) -> None:
    schedule = {"initial_rate": 0.3, "tokens": 640}
    (violation,) = MaskedLanguageModel.model_validate({**fields, "mask_rate_schedule": schedule}).violations()
    assert violation.path == path
    assert violation.message.startswith(message)
