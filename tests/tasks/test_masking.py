"""A fixed number of ordinary tokens is masked in every row, in the declared shares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from search_space.objective import MaskedLanguageModel
from tasks.batches import Batches, Sequences
from tasks.masking import NOT_PREDICTED, MaskedBatch, mask
from tests.factories.small_experiments import WORDS, sequences_of, text

SPECIAL = (WORDS.pad, WORDS.classify, WORDS.separate)
UNLIKELY = 1e-6  # a test with these odds fails once in a million seeds; the seed is fixed


def batch(length: int, rows: int = 4) -> Sequences:
    return Batches(text(), WORDS, length).at(0, rows, 1)


@st.composite
def maskings(draw: st.DrawFn) -> MaskedLanguageModel:
    covered = draw(st.floats(0, 1))
    scrambled = draw(st.floats(0, 1)) * (1 - covered)
    mask_rate = draw(st.floats(0.01, 0.7))
    return MaskedLanguageModel(mask_rate=mask_rate, mask_token_share=covered, random_token_share=scrambled)


@given(maskings(), st.integers(8, 96), st.integers(0, 2**32 - 1))
@settings(max_examples=80)
def test_every_row_masks_the_declared_number_of_ordinary_tokens(
    masking: MaskedLanguageModel, length: int, seed: int
) -> None:
    shown = batch(length)
    masked = mask(shown, masking, WORDS, np.random.default_rng(seed))
    assert masked.masked_positions.shape == masked.targets.shape == (4, masking.predictions(length))
    assert (np.diff(masked.masked_positions, axis=1) > 0).all()
    assert not np.isin(masked.targets, SPECIAL).any()
    assert (np.take_along_axis(shown.tokens, masked.masked_positions, 1) == masked.targets).all()


@given(maskings(), st.integers(8, 96), st.integers(0, 2**32 - 1))
def test_unmasked_positions_are_unchanged(masking: MaskedLanguageModel, length: int, seed: int) -> None:
    sequences = batch(length)
    before, untouched = sequences.tokens, sequences.tokens.copy()
    masked = mask(sequences, masking, WORDS, np.random.default_rng(seed))
    asked = np.zeros_like(before, dtype=bool)
    np.put_along_axis(asked, masked.masked_positions, True, 1)
    assert (masked.inputs[~asked] == untouched[~asked]).all()
    assert (before == untouched).all()
    assert (masked.inputs >= 0).all()
    assert (masked.inputs < WORDS.vocabulary_size).all()


def many(mask_token_share: float, random_token_share: float) -> MaskedBatch:
    masking = MaskedLanguageModel(mask_token_share=mask_token_share, random_token_share=random_token_share)
    return mask(batch(64, 2000), masking, WORDS, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("mask_token_share", "random_token_share"), [(0.85, 0.0), (0.8, 0.1), (0.0, 1.0), (1.0, 0.0), (0, 0)]
)
def test_the_shares_are_those_declared(mask_token_share: float, random_token_share: float) -> None:
    masked = many(mask_token_share, random_token_share)
    visible = np.take_along_axis(masked.inputs, masked.masked_positions, 1)
    mask_by_chance = random_token_share / WORDS.vocabulary_size
    kept_by_chance = random_token_share / WORDS.vocabulary_size
    for found, share in (
        (visible == WORDS.mask, mask_token_share + mask_by_chance),
        (visible == masked.targets, 1 - mask_token_share - random_token_share + kept_by_chance),
    ):
        assert binomtest(int(found.sum()), found.size, min(1.0, share)).pvalue > UNLIKELY


def test_random_tokens_come_from_the_full_vocabulary() -> None:
    masked = many(0.0, 1.0)
    visible = np.take_along_axis(masked.inputs, masked.masked_positions, 1)
    counts = np.bincount(visible.flatten(), minlength=WORDS.vocabulary_size)
    assert len(counts) == WORDS.vocabulary_size
    assert min(binomtest(int(count), visible.size, 1 / 40).pvalue for count in counts) > UNLIKELY


def test_masked_positions_are_uniform() -> None:
    shown = np.full((20_000, 16), 9)
    shown[:, 0], shown[:, -1] = WORDS.classify, WORDS.separate
    masked = mask(sequences_of(shown), MaskedLanguageModel(), WORDS, np.random.default_rng(1))
    counts = np.bincount(masked.masked_positions.flatten(), minlength=16)
    assert counts[0] == counts[-1] == 0
    assert min(binomtest(int(count), 20_000, 2 / 14).pvalue for count in counts[1:-1]) > UNLIKELY


def test_masking_depends_on_the_random_generator_only() -> None:
    shown = batch(32)
    same = [mask(shown, MaskedLanguageModel(), WORDS, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert (same[0].inputs == same[1].inputs).all()
    assert (same[0].masked_positions != same[2].masked_positions).any()


@given(st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_a_row_with_few_ordinary_tokens_predicts_these_alone(ordinary: int, seed: int) -> None:
    """The other row of the batch is predicted as usual; no special token or padding is selected or changed."""
    full = batch(64, 2).tokens
    full[0, 1 + ordinary : -1] = WORDS.separate
    full[0, -3:] = WORDS.pad
    masked = mask(sequences_of(full), MaskedLanguageModel(mask_rate=0.3), WORDS, np.random.default_rng(seed))
    predicted = masked.targets != NOT_PREDICTED
    assert predicted[0].sum() == min(ordinary, 19)
    assert predicted[1].all()
    assert not np.isin(masked.targets[predicted], SPECIAL).any()
    special = np.isin(full, SPECIAL)
    assert (masked.inputs[special] == full[special]).all()


def test_an_evaluation_set_has_equally_many_predictions_in_every_sequence() -> None:
    full = batch(64, 3).tokens
    full[1, 5:-1] = WORDS.separate
    random = np.random.default_rng(1)
    made = mask(sequences_of(full), MaskedLanguageModel(mask_rate=0.3), WORDS, random).evaluation_set(random)
    fewest = (~np.isin(full, SPECIAL)).sum(axis=1).min()
    assert made.targets.shape == made.positions.shape == (3, fewest)
    assert (made.targets == np.take_along_axis(full, made.positions, 1)).all()
    assert not np.isin(made.targets, SPECIAL).any()
    assert (np.diff(made.positions, axis=1) > 0).all()
