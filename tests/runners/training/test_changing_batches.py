"""Batches that grow and masks that become fewer in the training loop: data, tokens, resumption, longer budgets."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runners.training.loop import TrainingData, sequences_at
from search_space.batch_warm_up import BatchWarmUp
from search_space.candidate import Candidate
from search_space.objective import EntityReplacement, MaskedLanguageModel, Objective, ReplacedTokenDetection
from search_space.objective.masked_language_model import MaskRateSchedule
from search_space.packing import packings
from search_space.packing.mentions import NO_MENTION, MentionSequences
from search_space.packing.sequences import joined
from steeplechase.foundation.randomness import stream
from tests.factories.small_experiments import OBJECTIVES, SPAN_DYNAMIC, WORDS, batches_of, candidate
from tests.factories.training_data import Run, assert_bitwise_equal, lesson
from tests.tasks.packing.test_packing import WORD_TOKENS, packed

SCHEDULE = MaskRateSchedule(initial_rate=0.6, tokens=300)


def learner(objective: Objective, equal: str = "updates") -> Candidate:
    """Return a candidate whose batches grow from 2 to 6 sequences."""
    plain = candidate(SPAN_DYNAMIC, objective, 0.1)
    warm_up = BatchWarmUp.model_validate({"initial_sequences": 2, "tokens": 400, "equal": equal})
    recipe = plain.recipe.model_copy(update={"batch_sequences": 6, "batch_warm_up": warm_up})
    grown = plain.model_copy(update={"recipe": recipe})
    assert [*grown.violations()] == []
    return grown


def scheduled(objective: Objective) -> Objective:
    return objective.model_copy(update={"mask_rate_schedule": SCHEDULE})


@pytest.mark.parametrize("equal", ["updates", "tokens"])
def test_growing_batches_read_the_sequences_of_constant_ones_in_the_same_order(equal: str) -> None:
    growing = lesson(learner(MaskedLanguageModel(), equal))
    recipe = growing.candidate.recipe.model_copy(update={"batch_warm_up": None, "batch_sequences": 1})
    single = replace(growing, candidate=growing.candidate.model_copy(update={"recipe": recipe}))
    last = growing.candidate.recipe.phases[-1].first_update + 2
    batches = [sequences_at(growing, update) for update in range(last)]
    assert [len(batch.tokens) for batch in batches] == [
        len(growing.candidate.recipe.batch_of(n)) for n in range(last)
    ]
    assert len({len(batch.tokens) for batch in batches}) == 3
    one_by_one = [sequences_at(single, update) for update in range(sum(len(batch.tokens) for batch in batches))]
    for name in ("tokens", "numbers", "epochs"):
        whole, parts = (np.concatenate([getattr(each, name) for each in found]) for found in (batches, one_by_one))
        assert np.array_equal(whole, parts)
    read = np.cumsum([0, *(batch.tokens.size for batch in batches)])
    assert [batch.tokens_before for batch in batches] == read[:-1].tolist()


def test_joined_rows_with_fewer_mentions_end_with_none() -> None:
    parts = [batches_of(EntityReplacement(), 32).at(step, 2, 1) for step in range(8)]
    assert all(isinstance(part, MentionSequences) for part in parts)
    rows = [row[row[:, 0] != NO_MENTION] for part in parts for row in part.mentions]  # type: ignore[attr-defined]
    assert len({part.mentions.shape for part in parts}) > 1  # type: ignore[attr-defined]
    whole = joined(parts, WORDS.pad)
    assert isinstance(whole, MentionSequences)
    for mine, theirs in zip(whole.mentions, rows, strict=True):
        assert np.array_equal(mine[: len(theirs)], theirs)
        assert (mine[len(theirs) :] == NO_MENTION).all()


@pytest.mark.parametrize("kind", [each.kind for each in packings() if not each.consecutive | each.reads_mentions])
def test_joined_batches_have_the_rows_of_their_parts(kind: str) -> None:
    parts = [packed(kind).at(step, 2, 1) for step in range(4)]
    whole = joined(parts, WORD_TOKENS.pad)
    assert type(whole) is type(parts[0])
    rows = [row for part in parts for row in part.tokens]
    assert len(whole.tokens) == len(whole.numbers) == len(whole.epochs) == len(rows)
    for mine, theirs in zip(whole.tokens, rows, strict=True):
        assert np.array_equal(mine[: len(theirs)], theirs)
        assert (mine[len(theirs) :] == WORD_TOKENS.pad).all()
    assert whole.numbers.tolist() == [number for part in parts for number in part.numbers.tolist()]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.kind)
def test_a_resumed_run_has_the_same_weights_bit_by_bit(objective: Objective, tmp_path: Path) -> None:
    """Every objective learns from growing batches; those that mask also with a share that changes."""
    masks = "mask_rate_schedule" in type(objective).model_fields
    grown = learner(scheduled(objective) if masks else objective)
    uninterrupted = Run.started(grown).train(0, 6)
    Run.started(grown).train(0, 3).save(tmp_path / "checkpoint", 3)
    resumed = Run.started(grown)
    assert resumed.load(tmp_path / "checkpoint") == 3
    resumed.train(3, 6)
    assert_bitwise_equal(uninterrupted, resumed)
    assert all(np.isfinite(uninterrupted.losses))


@pytest.mark.parametrize("objective", [MaskedLanguageModel(mask_rate=0.2), ReplacedTokenDetection(mask_rate=0.2)])
def test_every_update_masks_the_share_of_its_tokens(objective: Objective) -> None:
    data = lesson(learner(scheduled(objective)))
    run, recipe, length = Run.started(data.candidate), data.candidate.recipe, data.candidate.recipe.sequence_length
    counts = []
    for update in range(recipe.steps(400)):
        batch = run.model.prepare(sequences_at(data, update), WORDS, stream(1, "masking", update))
        due = data.candidate.objective.at(recipe.tokens_after(update)).predictions(length)
        assert batch.predictions == due * len(recipe.batch_of(update))
        counts.append(due)
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) > 2
    assert counts[-1] == data.candidate.objective.settled.predictions(length)


def test_a_share_of_ones_own_is_the_constant_one_after_its_schedule() -> None:
    """At the tokens of its end and after, batches are those without a schedule, bit by bit."""
    plain = MaskedLanguageModel(mask_rate=0.2)
    found: list[TrainingData] = [lesson(candidate(SPAN_DYNAMIC, each)) for each in (plain, scheduled(plain))]
    update = found[0].candidate.recipe.first_update_after(SCHEDULE.tokens)
    for number, equal in ((update, True), (0, False)):
        one, other = (
            Run.started(data.candidate).model.prepare(
                sequences_at(data, number), WORDS, stream(1, "masking", number)
            ).inputs
            for data in found
        )  # fmt: skip
        assert np.array_equal(one, other) == equal
