"""What one direction can see: a token that its right neighbour determines, and likelihoods by prefixes."""

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import LanguageModel, MaskedLanguageModel
from search_space.packing.sequences import Sequences
from search_space.recipe import Recipe
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.models.encoder import Encoder
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS
from tests.factories.small_experiments import WORDS, candidate, convolutions, evaluation_set_of, sequences_of, stir

SYMBOLS, PAIRS, FIRST = 16, 4, len(SPECIAL_TOKENS)


def pairs(random: np.random.Generator, rows: int) -> np.ndarray:
    """Return rows of pairs (partner of r, r): the left one depends on its right neighbour and on nothing else."""
    partner = np.random.default_rng(7).permutation(SYMBOLS)
    right = random.integers(0, SYMBOLS, (rows, PAIRS))
    tokens = np.stack([partner[right], right], -1).reshape(rows, -1) + FIRST
    ends = np.full((rows, 1), WORDS.separate)
    return np.concatenate([np.full((rows, 1), WORDS.classify), tokens, ends], 1)


@torch.inference_mode()
def test_the_likelihood_of_a_sentence_is_the_product_over_its_prefixes() -> None:
    """Against one forward pass per prefix: nothing behind a token is read."""
    model = build_model(candidate(convolutions()[-1], LanguageModel()), None, 1).eval()
    stir(model)
    sentences = pairs(np.random.default_rng(2), 3)
    found = model.pseudo_log_likelihoods(sentences, WORDS.mask)
    for row, sentence in enumerate(torch.from_numpy(sentences)):
        total = 0.0
        for end in range(1, len(sentence) - 1):
            hidden = model.encoder(sentence[None, :end])[:, -1]
            logits = model.head(hidden, model.token_table)  # type: ignore[operator]
            total += log_softmax(logits.double(), -1)[0, sentence[end]].item()
        assert found[row] == pytest.approx(total, abs=1e-3)


def test_all_visible_tokens_are_refused_for_language_modelling() -> None:
    both = Candidate(architecture=Architecture(), objective=LanguageModel())
    (violation,) = (each for each in both.violations() if each.path == ("architecture", "visibility"))
    assert violation.message == "bidirectional with language model; allowed: left_to_right, right_to_left"
    one = Candidate(architecture=Architecture(visibility="left_to_right"), objective=LanguageModel())
    assert not [each for each in one.violations() if each.path == ("architecture", "visibility")]


def test_no_special_token_is_a_prediction_in_either_direction() -> None:
    tokens = pairs(np.random.default_rng(3), 2)
    tokens[0, 5] = WORDS.separate
    tokens[1, 9:] = WORDS.pad
    model = build_model(candidate(convolutions()[0], LanguageModel()), None, 1)
    batch = model.prepare(Sequences(tokens, np.arange(2), np.zeros(2, np.int64), 1), WORDS, np.random.default_rng(1))
    assert isinstance(batch, MaskedBatch)
    assert isinstance(model.encoder, Encoder)
    inside = tokens[:, 1:-1]
    ordinary = ~np.isin(inside, (WORDS.pad, WORDS.separate, WORDS.classify))
    assert ((batch.targets != NOT_PREDICTED) == ordinary).all()
    assert (batch.targets[ordinary] == inside[ordinary]).all()


@torch.inference_mode()
def test_a_causal_model_is_measured_on_masked_tokens_given_the_text_before_them() -> None:
    """Against one forward pass per prediction, of the unmasked tokens before it and nothing else."""
    model = build_model(candidate(convolutions()[-1], LanguageModel()), None, 1).eval()
    stir(model)
    masked = evaluation_set_of(candidate(convolutions()[-1], MaskedLanguageModel()), 5)
    originals = masked.inputs.copy()
    np.put_along_axis(originals, masked.positions, masked.targets, 1)
    found = model.held_out_losses(masked)
    for row, column in np.ndindex(found.shape):
        position = int(masked.positions[row, column])
        hidden = model.encoder(torch.from_numpy(originals[None, row, :position]))[:, -1]
        logits = model.head(hidden, model.token_table)  # type: ignore[operator]
        expected = -log_softmax(logits.double(), -1)[0, int(masked.targets[row, column])].item()
        assert found[row, column] == pytest.approx(expected, abs=1e-4)
    assert LanguageModel().measured_on("masked_language_model")
    assert not MaskedLanguageModel().measured_on("language_model")


@pytest.mark.parametrize(("visibility", "places"), [("left_to_right", [5, 6, 7, 8]), ("right_to_left", [1, 2, 3, 4])])
def test_the_half_loss_is_of_the_predictions_with_most_text(visibility: str, places: list[int]) -> None:
    """Transformer-XL, Table 6; the loss is that of the whole batch at those places alone."""
    recipe = Recipe(sequence_length=2 * PAIRS + 2, batch_sequences=3, dropout=0.0)
    architecture = Architecture.model_validate(
        {
            "depth": 1,
            "width": 16,
            "embedding_width": 16,
            "heads": 2,
            "positions": 16,
            "vocabulary_size": WORDS.vocabulary_size,
            "visibility": visibility,
        }
    )
    half, whole = (
        Candidate(architecture=architecture, objective=LanguageModel(predicted_share=share), recipe=recipe)
        for share in (0.5, 1.0)
    )
    sequences, random = sequences_of(pairs(np.random.default_rng(1), 3)), np.random.default_rng(1)
    model, reference = (build_model(each, None, 1).eval() for each in (half, whole))
    batch = model.prepare(sequences, WORDS, random)
    assert batch.masked_positions.tolist() == [places] * 3
    assert batch.predictions == 3 * half.objective.predictions(2 * PAIRS + 2)
    everything = reference.prepare(sequences, WORDS, random).evaluation_set(random)
    with torch.no_grad():
        expected = reference.held_out_losses(everything)[:, np.asarray(places) - 1].mean()
    assert model.loss(batch, random).item() == pytest.approx(expected, rel=1e-4)
