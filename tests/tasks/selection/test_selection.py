"""Every option selects ordinary tokens within the budget; words stay whole, spans have the declared lengths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from search_space.selection import NGram, Selection, SingleToken, SpanGeometric, WholeWord, WindowedNGram
from search_space.selection.numbering import NONE, drawn_lengths
from search_space.selection.option import SelectionOption
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.foundation.schema import options_of
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.tokenizer.word_boundaries import words_of
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS

PIECES = WordPiece(
    [*SPECIAL_TOKENS, *(f"w{number}" for number in range(20)), *(f"##p{number}" for number in range(15))], True
)
SPECIAL = (PIECES.pad, PIECES.classify, PIECES.separate)
OPTIONS: tuple[Selection, ...] = (SingleToken(), WholeWord(), NGram(), SpanGeometric(), WindowedNGram())
WHOLE: tuple[Selection, ...] = (WholeWord(), NGram())
UNLIKELY = 1e-3
every_option = pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.kind)


def batch(rows: int, length: int, seed: int = 1) -> Numbers:
    """Return sequences of whole words and their pieces, some with a separator inside, some with padding."""
    random = np.random.default_rng(seed)
    tokens = random.integers(len(SPECIAL_TOKENS), PIECES.vocabulary_size, (rows, length))
    tokens[random.random(tokens.shape) < 0.03] = PIECES.separate
    tokens[:, 0], tokens[:, -1] = PIECES.classify, PIECES.separate
    tokens[::3, -3:] = PIECES.pad
    return tokens


def split_words(words: Numbers, spans: Numbers) -> int:
    """Return the number of words of which some tokens are selected and some are not."""
    partial = 0
    for numbered, selected in zip(words, spans != NONE, strict=True):
        for word in np.unique(numbered[numbered != NONE]):
            partial += len(set(selected[numbered == word])) > 1
    return partial


def test_every_option_is_tested() -> None:
    assert {option.model_fields["kind"].default for option in options_of(SelectionOption)} == {
        option.kind for option in OPTIONS
    }


def test_a_word_is_its_first_piece_and_those_that_continue_it() -> None:
    w, piece = PIECES.pieces.index("w3"), PIECES.pieces.index("##p2")
    row = [PIECES.classify, piece, w, piece, piece, w, PIECES.separate, piece, w, PIECES.separate, PIECES.pad]
    assert words_of(np.array([row]), PIECES).tolist() == [[-1, 0, 1, 1, 1, 2, -1, 3, 4, -1, -1]]


@every_option
@given(length=st.integers(6, 70), rate=st.floats(0.02, 0.9), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_ordinary_tokens_are_selected_within_the_budget(
    option: Selection, length: int, rate: float, seed: int
) -> None:
    tokens = batch(5, length, seed % 99)
    words = words_of(tokens, PIECES)
    before = words.copy()
    budget = max(1, min(length - 2, option.budget(rate, length)))
    spans, again = (option.select(words, budget, np.random.default_rng(seed)) for _ in range(2))
    assert (spans == again).all()
    assert (words == before).all()
    assert not np.isin(tokens[spans != NONE], SPECIAL).any()
    assert ((spans != NONE).sum(axis=1) <= budget).all()


@every_option
def test_a_span_is_contiguous_and_numbered_by_its_first_token(option: Selection) -> None:
    spans = option.select(words_of(batch(40, 64), PIECES), 20, np.random.default_rng(1))
    for row in spans:
        for span in np.unique(row[row != NONE]):
            (positions,) = np.nonzero(row == span)
            assert positions[0] == span
            assert (np.diff(positions) == 1).all()


@pytest.mark.parametrize("option", WHOLE, ids=lambda option: option.kind)
def test_no_word_is_split(option: Selection) -> None:
    words = words_of(batch(300, 64), PIECES)
    assert split_words(words, option.select(words, 10, np.random.default_rng(1))) == 0
    assert split_words(words, SingleToken().select(words, 10, np.random.default_rng(1))) > 300


def test_spans_begin_at_words_and_only_the_last_one_is_truncated() -> None:
    words = words_of(batch(300, 64), PIECES)
    spans = SpanGeometric().select(words, 10, np.random.default_rng(1))
    starts = words != np.pad(words, ((0, 0), (1, 0)), constant_values=NONE)[:, :-1]
    rows, positions = np.nonzero((spans == np.arange(64)) & (spans != NONE))
    assert starts[rows, positions].all()
    assert 0 < split_words(words, spans) <= 300
    assert ((spans != NONE).sum(axis=1) == 10).all()


@pytest.mark.parametrize(
    ("option", "mean"), [(SpanGeometric(), 3.797), (NGram(), 1.636), (NGram(weights=(1.0, 1.0, 2.0)), 2.25)]
)
def test_lengths_before_truncation_have_the_declared_distribution(option: SpanGeometric | NGram, mean: float) -> None:
    drawn = drawn_lengths(option.probabilities, 20_000, np.random.default_rng(1))
    counts = np.bincount(drawn, minlength=len(option.probabilities) + 1)[1:]
    assert chisquare(counts, 20_000 * np.array(option.probabilities)).pvalue > UNLIKELY
    assert np.dot(option.probabilities, np.arange(1, len(option.probabilities) + 1)) == pytest.approx(mean, abs=1e-3)
    assert sum(option.probabilities) == pytest.approx(1)


@every_option
def test_every_word_is_selected_equally_often(option: Selection) -> None:
    """Away from the ends, where spans that begin further left do not reach."""
    words = np.tile(np.array([NONE, *range(60), NONE]), (4000, 1))
    shares = (option.select(words, 9, np.random.default_rng(1)) != NONE).mean(axis=0)
    assert shares[0] == shares[-1] == 0
    assert shares[12:-12] == pytest.approx(np.full(38, shares[12:-12].mean()), abs=0.03)


@every_option
def test_a_sequence_without_words_selects_nothing(option: Selection) -> None:
    spans = option.select(np.full((3, 9), NONE), 2, np.random.default_rng(1))
    assert (spans == NONE).all()


@pytest.mark.parametrize(("option", "selected"), [(WholeWord(), 0), (NGram(), 0), (SpanGeometric(), 3)])
def test_a_word_longer_than_the_budget_is_passed_over_or_truncated(option: Selection, selected: int) -> None:
    words = np.array([[NONE, *[0] * 12, NONE]])
    assert np.count_nonzero(option.select(words, 3, np.random.default_rng(1)) != NONE) == selected


def test_the_budget_is_the_releases() -> None:
    assert [option.budget(0.15, 128) for option in OPTIONS] == [19, 19, 19, 20, 19]
