"""Entity replacement: which mentions are replaced and by what, boundaries, static copies, planted facts."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from search_space.objective import EntityReplacement
from search_space.packing.mentions import NO_MENTION, MentionSequences
from search_space.packing.sequences import EntityNames
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.tasks.objectives.entity_replacement import NO_BOUNDARY, EntityBatch, Model, chosen, replace_entities
from tests.factories.small_experiments import WORDS, batches_of, built, candidate, convolutions, stir

OBJECTIVE = EntityReplacement(mask_rate=0.15)


def model_of(objective: EntityReplacement = OBJECTIVE) -> Model:
    model = built(candidate(convolutions()[-1], objective)).eval()
    assert isinstance(model, Model)
    return model


def sequences_of_text(rows: int, length: int = 32, step: int = 0) -> MentionSequences:
    sequences = batches_of(OBJECTIVE, length).at(step, rows, 1)
    assert isinstance(sequences, MentionSequences)
    return sequences


@given(st.integers(0, 30), st.floats(0.01, 0.5), st.integers(0, 2**32 - 1))
def test_no_two_adjacent_mentions_are_chosen(count: int, rate: float, seed: int) -> None:
    places = chosen(count, rate, np.random.default_rng(seed))
    assert ((places >= 0) & (places < count)).all()
    assert (np.diff(places) > 1).all()
    assert abs(len(places) - rate * count) < 1


def test_a_replaced_mention_has_a_name_of_another_entity_of_its_type_and_the_rest_is_the_text() -> None:
    """The text is restored by writing each mention as it was: offsets follow names that are longer or shorter."""
    sequences = sequences_of_text(40)
    changed = replace_entities(sequences, 0.5, WORDS, np.random.default_rng(1), None)
    same_type = {0: {(12,)}, 1: {(13,), (14, 15, 16)}, 2: {(7,), (8, 9)}, 3: {(10, 11)}}
    for row in range(40):
        before, restored, position = sequences.tokens[row], [], 0
        for place, (start, end, entity) in enumerate(sequences.mentions[row].tolist()):
            if start == NO_MENTION or changed.left[row, place] == NO_BOUNDARY:
                continue
            first, last = changed.left[row, place] + 1, changed.right[row, place]
            name, original = (tuple(each.tolist()) for each in (changed.tokens[row, first:last], before[start:end]))
            assert (name != original) == changed.replaced[row, place]
            assert name in same_type[entity] or name == original
            assert changed.inside[row, first:last].all()
            restored += [*changed.tokens[row, position:first], *original]
            position = last
        assert restored == before[: len(restored)].tolist()
        text = changed.tokens[row] != WORDS.pad
        assert changed.tokens[row, text][-1] == WORDS.separate
    assert changed.replaced.mean() > 0.3


def test_a_name_that_is_already_there_and_a_type_with_one_entity_stay_true() -> None:
    sequences = sequences_of_text(30)
    start, end = sequences.mentions[0, 0, :2]
    there = tuple(sequences.tokens[0, start:end].tolist())
    for names in (
        EntityNames(["a", "b", "c", "d"], [[(7,)], [(8,)], [(9,)], [(10,)]]),
        EntityNames(["a"] * 4, [[there]] * 4),
    ):
        changed = replace_entities(replace(sequences, names=names), 0.5, WORDS, np.random.default_rng(1), None)
        assert not changed.replaced[0, 0]
    assert (replace_entities(replace(sequences, names=EntityNames([*"abcd"], [[(7,)]] * 4)), 0.5, WORDS,
            np.random.default_rng(1), None).tokens == sequences.tokens).all()  # fmt: skip


def test_masks_are_outside_the_mentions_and_static_copies_repeat_with_the_epochs() -> None:
    objective = EntityReplacement(mask_rate=0.3, static_masks=10)
    model, sequences = model_of(objective), sequences_of_text(20)

    def batch(epoch: int) -> EntityBatch:
        return model.prepare(replace(sequences, epochs=np.full(20, epoch)), WORDS, np.random.default_rng(epoch))

    batches = [batch(epoch) for epoch in range(11)]
    assert (batches[0].inputs == batches[10].inputs).all()
    assert len({each.inputs.tobytes() for each in batches}) == 10
    for each in batches[:3]:
        rows, columns = np.nonzero(each.targets != NOT_PREDICTED)
        positions = each.masked_positions[rows, columns]
        for row, position in zip(rows, positions, strict=True):
            bounded = each.left[row] != NO_BOUNDARY
            within = (each.left[row, bounded] < position) & (position < each.right[row, bounded])
            assert not within.any()


def test_without_masked_language_modelling_no_token_is_masked() -> None:
    model = model_of(EntityReplacement(masked_token_weight=0))
    stir(model)
    batch = model.prepare(sequences_of_text(8), WORDS, np.random.default_rng(1))
    assert batch.predictions == 0
    assert not (batch.inputs == WORDS.mask).any()
    masked, entity = (loss.item() for loss in model.losses(model.device_batch(batch, np.random.default_rng(1))))
    assert (masked, entity > 0) == (0.0, True)


def test_a_mention_is_classified_from_the_tokens_beside_it_alone() -> None:
    model = model_of()
    stir(model)
    batch = model.prepare(sequences_of_text(1), WORDS, np.random.default_rng(1))
    hidden = model.hidden(model.device_batch(batch, np.random.default_rng(1))).detach().requires_grad_()
    (first,) = batch.classified[:1]
    model.entity_logits(hidden, model.device_batch(batch, np.random.default_rng(1)))[0].backward()
    assert hidden.grad is not None
    beside = {int(batch.left.ravel()[first]), int(batch.right.ravel()[first])}
    assert {*hidden.grad[0].abs().sum(-1).nonzero().flatten().tolist()} == beside
