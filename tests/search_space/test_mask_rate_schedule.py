"""A share of masked tokens that changes: its equation, its costs update by update, its rules."""

import math
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
from steeplechase.foundation.schema import options_of

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
