"""Batches that grow: their sizes and tokens in closed form against the updates one by one, and what is refused."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_space.batch_warm_up import BatchWarmUp
from search_space.candidate import Candidate
from search_space.objective import LanguageModel
from search_space.packing import Consecutive
from search_space.pruning import Pruning
from search_space.recipe import Recipe

LENGTH = 16


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    first, times = draw(st.integers(1, 5)), draw(st.integers(2, 7))
    warm_up = BatchWarmUp(
        initial_sequences=first,
        tokens=draw(st.integers(1, 20_000)),
        equal=draw(st.sampled_from(("updates", "tokens"))),
    )
    return Recipe(sequence_length=LENGTH, batch_sequences=first * times, batch_warm_up=warm_up)


def test_every_size_of_modernbert_base_has_as_many_updates() -> None:
    """Warner et al. 2024, section 2.2: from 768 to 4,608 over 50 billion tokens of sequences of 1,024."""
    warm_up = BatchWarmUp(initial_sequences=768, tokens=50_000_000_000)
    recipe = Recipe(sequence_length=1024, batch_sequences=4608, batch_warm_up=warm_up)
    phases = recipe.phases
    assert [phase.batch_sequences for phase in phases] == [768, 1536, 2304, 3072, 3840, 4608]
    assert {later.first_update - phase.first_update for phase, later in pairwise(phases)} == {4239}
    assert 0 <= recipe.tokens_after(phases[-1].first_update) - warm_up.tokens < 15 * 768 * 1024


@given(recipes())
def test_sizes_are_the_multiples_of_the_first_and_reach_the_whole_one_at_the_declared_tokens(recipe: Recipe) -> None:
    warm_up = recipe.batch_warm_up
    assert warm_up is not None
    assert [*recipe.violations()] == []
    last = recipe.phases[-1]
    sizes = [len(recipe.batch_of(update)) for update in range(last.first_update + 3)]
    assert sizes == sorted(sizes)
    assert all(size % warm_up.initial_sequences == 0 for size in sizes)
    assert sizes[-3:] == [recipe.batch_sequences] * 3
    assert recipe.tokens_after(last.first_update) >= warm_up.tokens
    if warm_up.equal == "tokens":  # at most one update of each size too many
        assert recipe.tokens_after(last.first_update) - warm_up.tokens <= LENGTH * recipe.batch_sequences
        share = (recipe.batch_sequences // warm_up.initial_sequences - 1) / math.ceil(warm_up.tokens / LENGTH)
        for update, size in enumerate(sizes[: last.first_update]):
            grown = 1 + int(recipe.batch_of(update).start * share + 1e-9)
            assert size == grown * warm_up.initial_sequences
    else:
        counts = [sizes[: last.first_update].count(size) for size in sorted(set(sizes[: last.first_update]))]
        assert len(set(counts)) == 1


@given(recipes(), st.integers(0, 40_000))
def test_a_budget_has_the_fewest_updates_with_its_tokens_each_sequence_once(recipe: Recipe, tokens: int) -> None:
    updates = recipe.steps(tokens)
    assert recipe.tokens_after(updates) >= tokens
    assert not updates or recipe.tokens_after(updates - 1) < tokens
    read = [sequence for update in range(updates) for sequence in recipe.batch_of(update)]
    assert read == [*range(recipe.tokens_after(updates) // LENGTH)]


@given(recipes(), st.integers(1, 9_000))
def test_the_learning_rate_is_a_function_of_the_tokens_read(recipe: Recipe, tokens: int) -> None:
    """After equal tokens the rate is that of a constant batch of one sequence, and never 0."""
    update = recipe.steps(tokens) - 1
    single = Recipe(sequence_length=LENGTH, batch_sequences=1, schedule=recipe.schedule)
    read = recipe.batch_of(update).stop
    assert recipe.rate_at(update, math.inf) == single.rate_at(read - 1, math.inf)
    assert recipe.rate_at(recipe.steps(tokens) - 1, tokens) > 0


@given(recipes(), st.integers(1, 30_000))
def test_flops_are_those_of_the_sequences_whatever_the_batches(recipe: Recipe, tokens: int) -> None:
    growing, constant = Candidate(recipe=recipe), Candidate(recipe=recipe.model_copy(update={"batch_warm_up": None}))
    baseline = growing.architecture
    assert growing.train_flops(tokens, baseline) == constant.train_flops(tokens, baseline)
    updates = recipe.steps(tokens)
    generator = growing.objective.generator_of(baseline, baseline)
    whole = growing.flops_of_updates(range(updates), generator)
    parts = [
        growing.flops_of_updates(range(*part), generator) for part in ((0, updates // 2), (updates // 2, updates))
    ]
    assert whole == sum(parts)
    assert whole == growing.train_flops(recipe.tokens_after(updates), baseline)


def test_without_a_warm_up_nothing_of_a_recipe_changes() -> None:
    recipe = Recipe(sequence_length=LENGTH, batch_sequences=6)
    assert "batch_warm_up" not in recipe.model_dump(exclude_defaults=True)
    assert [recipe.tokens_after(updates) for updates in range(4)] == [0, 96, 192, 288]
    assert [recipe.steps(tokens) for tokens in (0, 1, 96, 97)] == [0, 1, 1, 2]
    assert recipe.smallest_batch == 6


def test_long_sequences_have_whole_batches() -> None:
    recipe = Recipe(batch_sequences=8, batch_warm_up=BatchWarmUp(initial_sequences=2, tokens=10**6))
    assert recipe.main_phase.batch_warm_up == recipe.batch_warm_up
    assert recipe.of_long_sequences.batch_warm_up is None


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"batch_sequences": 8, "first": 8}, "batch_warm_up.initial_sequences", "8 is not below batch_sequences, 8;"),
        ({"batch_sequences": 8, "first": 3}, "batch_warm_up.initial_sequences",
         "3 does not divide batch_sequences 8. Allowed near it: 1, 2, 4, 8"),
        ({"batch_sequences": 10_000, "first": 1}, "batch_warm_up.initial_sequences",
         "10000 sizes of a batch are too many; write 3 or more"),
        ({"batch_sequences": 8, "first": 2, "micro_batches": 4}, "micro_batches",
         "4 micro-batches of 2 sequences would leave some empty"),
        ({"batch_sequences": 8, "first": 2, "processes": 4}, "processes",
         "4 processes of 1 micro-batches would leave some of 2 sequences empty"),
        ({"batch_sequences": 8, "first": 2, "pruning": Pruning(parameters_share=0.8)}, "pruning",
         "a pruned encoder reads batches of one size; leave batch_warm_up out"),
    ],
)  # fmt: skip
def test_sizes_that_batches_cannot_have_are_one_line(fields: dict[str, object], path: str, message: str) -> None:
    own = {name: value for name, value in fields.items() if name != "first"}
    warm_up = {"initial_sequences": fields["first"], "tokens": 4096}
    recipe = Recipe.model_validate({**own, "batch_warm_up": warm_up})
    (violation,) = recipe.violations()
    assert ".".join(map(str, violation.path)) == path
    assert violation.message.startswith(message)


def test_lanes_of_the_text_do_not_grow() -> None:
    recipe = Recipe(batch_sequences=8, batch_warm_up=BatchWarmUp(initial_sequences=2, tokens=4096))
    objective = LanguageModel(packing=Consecutive())
    architecture = {"visibility": "left_to_right"}
    candidate = Candidate.model_validate({"architecture": architecture, "recipe": recipe, "objective": objective})
    (violation,) = candidate.violations()
    assert violation.path == ("recipe", "batch_warm_up")
    assert violation.message == (
        "rows of packing consecutive are lanes of the text, as many in every batch; leave batch_warm_up out"
    )
