"""Supersense prediction: loss identities, the preference for words of one supersense, a planted class of words."""

import math

import numpy as np
import pytest
import torch

from search_space.candidate import Candidate
from search_space.objective import Supersense
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.foundation.errors import Violation
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives.supersense import Model, alone, supersense_loss
from tests.factories.small_experiments import (
    SUPERSENSES,
    WORDS,
    batches_of,
    built,
    candidate,
    convolutions,
    sequences_of,
    stir,
)

FIRST = 5  # the first ordinary token of WORDS


def model_of(objective: Supersense) -> Model:
    model = built(candidate(convolutions()[-1], objective)).eval()
    assert isinstance(model, Model)
    return model


def logits_of(probabilities: list[float]) -> torch.Tensor:
    return torch.tensor([probabilities]).log()


@pytest.mark.parametrize("count", [1, 3, 45])
def test_a_uniform_guess_costs_the_share_of_allowed_senses_and_the_log_of_all(count: int) -> None:
    loss = supersense_loss(torch.zeros(2, 45), (torch.arange(45) < count).expand(2, 45))
    assert loss.item() == pytest.approx(-math.log(count / 45) + math.log(45), rel=1e-5)


def test_one_allowed_sense_costs_its_log_probability_twice_and_uniform_on_all_allowed_their_log() -> None:
    one = supersense_loss(logits_of([0.2, 0.5, 0.3]), torch.tensor([[False, True, False]]))
    assert one.item() == pytest.approx(-2 * math.log(0.5), rel=1e-5)
    several = supersense_loss(logits_of([1e-9, 0.5, 0.5]), torch.tensor([[False, True, True]]))
    assert several.item() == pytest.approx(math.log(2), abs=1e-5)


def test_only_whole_words_with_senses_are_predicted_and_the_terms_are_averaged_over_their_own() -> None:
    objective = Supersense(masked_token_weight=0.5, supersense_weight=3.0)
    model = model_of(objective)
    stir(model)
    batch = model.prepare(batches_of(objective, 32).at(0, 8, 1), WORDS, np.random.default_rng(1))
    predicted = batch.targets != NOT_PREDICTED
    (supersenses,) = batch.auxiliary
    assert (supersenses.allowed[predicted] == SUPERSENSES[batch.targets[predicted]]).all()
    assert not supersenses.allowed[~predicted].any()
    assert model.predictions_of_terms(batch) == (predicted.sum(), supersenses.allowed.any(axis=2).sum())
    masked, sense = (loss.item() for loss in model.losses(model.device_batch(batch, np.random.default_rng(1))))
    assert model.loss(batch, np.random.default_rng(1)).item() == pytest.approx(0.5 * masked + 3 * sense, rel=1e-6)


def test_a_piece_of_a_word_is_not_a_word_by_itself() -> None:
    assert alone(np.array([[-1, 0, 1, 1, 2, -1], [0, 0, 0, -1, -1, 3]])).tolist() == [
        [False, True, False, False, True, False],
        [False, False, False, False, False, True],
    ]


def single_sense(batch: MaskedBatch) -> np.ndarray:
    return SUPERSENSES[batch.targets].sum(axis=2) * (batch.targets != NOT_PREDICTED)


@pytest.mark.parametrize(("budget", "words"), [(0.4, 0.5), (0.8, 0.5), (1.0, 0.1)])
def test_words_of_one_supersense_fill_their_share_and_no_more(budget: float, words: float) -> None:
    objective = Supersense(single_sense_budget=budget, single_sense_words=words)
    tokens = np.random.default_rng(2).integers(FIRST, WORDS.vocabulary_size, (500, 128))
    batch = model_of(objective).prepare(sequences_of(tokens), WORDS, np.random.default_rng(1))
    whole = objective.masked_tokens(128)
    known = SUPERSENSES[tokens].any(axis=2).sum(axis=1)
    expected = np.ceil(np.minimum(budget * whole, words * known))
    assert (single_sense(batch).sum(axis=1) == expected).all()
    assert ((batch.targets != NOT_PREDICTED).sum(axis=1) == whole).all()


def test_without_the_preference_masks_are_those_of_masked_language_modelling() -> None:
    objective = Supersense(single_sense_budget=0)
    plain = built(candidate(convolutions()[-1], objective.reference))
    sequences = batches_of(objective, 32).at(0, 8, 1)
    ours, theirs = (each.prepare(sequences, WORDS, np.random.default_rng(1)) for each in (model_of(objective), plain))
    assert (ours.inputs == theirs.inputs).all()
    assert (ours.targets == theirs.targets).all()


def test_an_architecture_without_supersenses_is_refused() -> None:
    (refused,) = Candidate(objective=Supersense()).violations()
    assert isinstance(refused, Violation)
    assert refused.path == ("architecture", "supersenses")
