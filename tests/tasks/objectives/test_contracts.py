"""What the objectives of this repository promise beside the contracts: of special tokens, padding and empty rows."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from search_space.objective import Objective
from search_space.packing.mentions import NO_MENTION, MentionSequences
from search_space.packing.sequences import UNDEFINED, PairSequences, Sequences
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel
from tests.factories.small_experiments import (
    OBJECTIVES,
    WORDS,
    batches_of,
    built,
    candidate,
    convolutions,
    generators,
    objective_title,
    stir,
)

SPECIAL = (WORDS.pad, WORDS.classify, WORDS.separate)
OF_TWO_TERMS = [
    each for each in OBJECTIVES if "masked_token_weight" in type(each).model_fields and each.kind != "combined"
]
EVERY_TOKEN_IS_A_PREDICTION = ("replaced_token_detection", "all_tokens_masked_language_model")
every_generator = pytest.mark.parametrize("objective", [*OBJECTIVES, *generators()], ids=objective_title)


def model_of(objective: Objective) -> PretrainingModel[Any]:
    return built(candidate(convolutions()[-1], objective)).eval()


def crowded(objective: Objective) -> Sequences:
    """Return rows that end in padding, have a separator inside, or have no ordinary token."""
    tokens = batches_of(objective).at(0, 6, 1).tokens.copy()
    tokens[0, 6:] = WORDS.pad
    tokens[1, 7] = WORDS.separate
    tokens[2, 1:] = WORDS.separate
    return with_tokens(objective, tokens)


def with_tokens(objective: Objective, tokens: np.ndarray) -> Sequences:
    """Return sequences of the objective's own type with these tokens, without relations or mentions."""
    sequences = batches_of(objective).at(0, len(tokens), 1)
    if isinstance(sequences, MentionSequences):
        return replace(sequences, tokens=tokens, mentions=np.full((len(tokens), 1, 3), NO_MENTION))
    if not isinstance(sequences, PairSequences):
        return replace(sequences, tokens=tokens)
    return replace(sequences, tokens=tokens, labels=np.full(len(tokens), UNDEFINED))


@every_generator
@pytest.mark.parametrize("seed", range(2))
def test_special_tokens_and_padding_are_neither_predicted_nor_changed(objective: Objective, seed: int) -> None:
    sequences = crowded(objective)
    batch = model_of(objective).prepare(sequences, WORDS, np.random.default_rng(seed))
    special = np.isin(sequences.tokens, SPECIAL)
    assert (batch.inputs[special] == sequences.tokens[special]).all()
    positions = batch.masked_positions[batch.targets != NOT_PREDICTED]
    rows = np.nonzero(batch.targets != NOT_PREDICTED)[0]
    assert not special[rows, positions].any()
    assert (batch.targets[2] == NOT_PREDICTED).all()


@every_generator
def test_a_row_without_predictions_does_not_change_the_loss_of_the_others(objective: Objective) -> None:
    if objective.kind in EVERY_TOKEN_IS_A_PREDICTION:
        pytest.skip("every row has predictions")
    model = model_of(objective)
    stir(model)
    tokens = batches_of(objective).at(0, 6, 1).tokens.copy()
    tokens[3:, 1:] = WORDS.separate
    whole = model.prepare(with_tokens(objective, tokens), WORDS, np.random.default_rng(1))
    rows, _ = whole.micro_batches(2)
    losses = [model.loss(batch, np.random.default_rng(1)).item() for batch in (whole, rows)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize("objective", OF_TWO_TERMS, ids=objective_title)
def test_the_loss_is_the_weighted_sum_of_its_terms(objective: Objective) -> None:
    of_masks = "masked_token_weight"
    weights = {name: 3.0 for name in type(objective).model_fields if name.endswith("_weight")} | {of_masks: 0.5}
    assert len(weights) == 2
    model = model_of(objective.model_copy(update=weights))
    stir(model)
    batch = model.prepare(batches_of(objective).at(0, 6, 1), WORDS, np.random.default_rng(1))
    masked, other = (loss.item() for loss in model.losses(model.device_batch(batch, np.random.default_rng(1))))  # type: ignore[attr-defined]
    assert min(masked, other) > 0.1
    assert model.loss(batch, np.random.default_rng(1)).item() == pytest.approx(0.5 * masked + 3 * other, rel=1e-6)
