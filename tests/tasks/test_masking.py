"""A fixed number of ordinary tokens is masked in every row, in the declared shares."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from search_space.objective import MaskedLanguageModel
from search_space.packing.sequences import Sequences
from search_space.packing.stream import Batches
from search_space.selection import SpanGeometric
from search_space.selection.numbering import NONE, NOT_PREDICTED
from steeplechase.tasks.contracts.small_candidates import text
from steeplechase.tasks.masking import MaskedBatch, mask
from tests.factories.small_experiments import WORDS, sequences_of

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
@settings(max_examples=40)
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


@given(st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_a_row_with_few_ordinary_tokens_predicts_these_alone(ordinary: int, seed: int) -> None:
    """The other row of the batch is predicted as usual; no special token or padding is selected or changed."""
    full = batch(64, 2).tokens
    full[0, 1 + ordinary : -1] = WORDS.separate
    full[0, -3:] = WORDS.pad
    masked = mask(sequences_of(full), MaskedLanguageModel(mask_rate=0.3), WORDS, np.random.default_rng(seed))
    predicted = masked.targets != NOT_PREDICTED
    masking = MaskedLanguageModel(mask_rate=0.3)
    assert [masking.predictions(length) for length in (61, 64)] == [18, 19]  # without and with three more tokens
    assert predicted[0].sum() == min(ordinary, 18)
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


def test_a_span_has_one_choice_of_replacement_and_spans_have_the_declared_shares() -> None:
    """Against a choice for each token, under which most spans are mixed."""
    masks = {"mask_token_share": 0.8, "random_token_share": 0.1, "selection": SpanGeometric()}
    together, apart = (
        mask(batch(64, 3000), MaskedLanguageModel(**masks, replaced_together=unit), WORDS, np.random.default_rng(1))
        for unit in ("span", "token")
    )

    def masked_shares(masked: MaskedBatch) -> list[float]:
        shown = np.take_along_axis(masked.inputs, masked.masked_positions, 1) == WORDS.mask
        return [
            float(shown[row][spans == span].mean())
            for row, spans in enumerate(masked.spans)
            for span in np.unique(spans[spans != NONE])
        ]

    shares = np.array(masked_shares(together))
    random_mask_chance = 0.1 / WORDS.vocabulary_size
    assert np.isin(shares, (0.0, 1.0)).mean() > 1 - 10 * random_mask_chance
    assert binomtest(int((shares == 1).sum()), len(shares), 0.8).pvalue > UNLIKELY
    assert np.isin(masked_shares(apart), (0.0, 1.0)).mean() < 0.7


STATIC = MaskedLanguageModel(static_masks=4, selection=SpanGeometric())


def masks_of_epochs(masking: MaskedLanguageModel, epochs: int) -> dict[int, Counter[bytes]]:
    """Return how often each sequence of a small text had each mask."""
    made = Batches(text(400), WORDS, 66)
    seen: dict[int, Counter[bytes]] = defaultdict(Counter)
    for step in range(epochs * made.sequences):
        sequences = made.at(step, 1, 1)
        masked = mask(sequences, masking, WORDS, np.random.default_rng(step))
        seen[int(sequences.numbers[0])][masked.inputs.tobytes()] += 1
    return seen


def test_static_masks_are_repeated_equally_often_and_dynamic_ones_never() -> None:
    static, dynamic = (masks_of_epochs(masking, 8) for masking in (STATIC, MaskedLanguageModel()))
    assert len(static) == len(dynamic) == 6
    assert all(sorted(masks.values()) == [2, 2, 2, 2] for masks in static.values())
    assert all(len(masks) == 8 for masks in dynamic.values())


def test_static_masks_do_not_depend_on_the_batch_and_depend_on_the_seed() -> None:
    made = Batches(text(), WORDS, 32)
    whole = mask(made.at(0, 8, 1), STATIC, WORDS, np.random.default_rng(1))
    halves = [mask(made.at(step, 4, 1), STATIC, WORDS, np.random.default_rng(7)) for step in (0, 1)]
    assert (np.concatenate([half.inputs for half in halves]) == whole.inputs).all()
    tokens = made.at(0, 8, 1).tokens
    one, other = (mask(sequences_of(tokens, seed), STATIC, WORDS, np.random.default_rng(1)) for seed in (1, 2))
    assert (one.inputs != other.inputs).any()


def test_static_masks_of_padded_rows_do_not_depend_on_the_rows_beside_them() -> None:
    """Rows of a batch have as many positions as its longest one; those that fill a row are not predicted."""
    tokens = Batches(text(), WORDS, 64).at(0, 6, 1).tokens
    tokens[:3, 20:] = WORDS.pad
    masking = MaskedLanguageModel(static_masks=4)
    whole = mask(sequences_of(tokens), masking, WORDS, np.random.default_rng(1))
    short = mask(sequences_of(tokens[:3]), masking, WORDS, np.random.default_rng(2))
    assert (whole.inputs[:3] == short.inputs).all()
    counts = (whole.targets != NOT_PREDICTED).sum(1)
    assert counts.tolist() == [masking.masked_tokens(20)] * 3 + [masking.masked_tokens(64)] * 3
    assert (np.diff(whole.masked_positions, axis=1) >= 0).all()
