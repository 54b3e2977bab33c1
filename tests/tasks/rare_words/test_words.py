"""N-grams and contexts of words."""

from collections import Counter

import numpy as np
import pytest

from search_space.rare_words import RareWords
from steeplechase.tasks.rare_words.contexts import NgramTable, contexts_at, ngrams_of, occurrences
from steeplechase.tasks.rare_words.rarification import word_counts
from steeplechase.tasks.tokenizer import BpeOption, UnigramOption, WordOption, WordPiece, WordPieceTraining
from steeplechase.tasks.tokenizer.tokenizer import TokenizerOption
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS

TOKENIZER = WordPiece([*SPECIAL_TOKENS, "a", "b", "c", "d", "wind", "##mill", "##s"], lowercase=True)
SEPARATOR = "[SEP]"
MASK = "[MASK]"


def stream_of(*documents: str) -> np.ndarray:
    """Return the tokens of documents with a separator behind each."""
    encoded = TOKENIZER.encode(documents)
    return np.array([token for each in encoded for token in (*each, TOKENIZER.separate)], np.uint16)


def test_ngrams_have_the_boundaries_of_their_word() -> None:
    assert ngrams_of("ab", 3, 5) == ["‹ab", "ab›", "‹ab›"]
    assert ngrams_of("", 3, 5) == ["‹›"]


def test_a_table_has_the_ngrams_of_enough_words_each_word_counted_once() -> None:
    settings = RareWords(smallest_ngram=3, largest_ngram=3, ngram_words=2)
    table = NgramTable.of(["walking", "talking", "inginging"], settings)
    assert "ing" in table.rows
    assert "‹wa" not in table.rows
    rows = table.encode(["sing", "xy"])
    assert set(rows[0].tolist()) - {0} == {table.rows["ing"], table.rows["ng›"]}
    assert not rows[1].any()


def test_occurrences_are_whole_words() -> None:
    stream = stream_of("a windmill b", "windmills", "wind windmill")
    (whole,), (simple,) = TOKENIZER.encode(["windmill"]), TOKENIZER.encode(["wind"])
    assert [stream[start - 1] for start in occurrences(stream, whole, TOKENIZER)] == [
        TOKENIZER.pieces.index("a"),
        TOKENIZER.pieces.index("wind"),
    ]
    assert len(occurrences(stream, simple, TOKENIZER)) == 1
    assert len(occurrences(stream[:0], simple, TOKENIZER)) == 0


@pytest.mark.parametrize("option", [BpeOption(), UnigramOption(), WordPieceTraining(), WordOption()])
def test_words_are_whole_whatever_marks_their_ends(option: TokenizerOption) -> None:
    documents = ["the cat sat at the hat", "cats at a cathat", "a hat the cat"] * 20
    tokenizer = option.tokenizer(documents, {"word": 13, "unigram": 40}.get(option.kind, 24))
    stream = np.array([token for each in tokenizer.encode(documents) for token in (*each, tokenizer.separate)])
    expected = Counter(" ".join(documents).split())
    counts = word_counts([*expected], stream, tokenizer)
    assert counts == expected
    for word, pieces in zip(expected, tokenizer.encode([*expected]), strict=True):
        assert len(occurrences(stream, pieces, tokenizer)) == expected[word]


@pytest.mark.parametrize("length", [4, 5, 6, 7, 20])
def test_a_context_stays_in_its_document_and_in_its_length(length: int) -> None:
    stream = stream_of("d d d", "a b wind c", "d")
    (pieces,) = TOKENIZER.encode(["wind"])
    found = contexts_at(stream, occurrences(stream, pieces, TOKENIZER), 1, length, TOKENIZER)
    tokens = [TOKENIZER.pieces[token] for token in found.tokens[0][found.real[0]]]
    assert len(tokens) <= length
    assert (tokens[0], tokens[-1]) == ("[CLS]", SEPARATOR)
    assert tokens[found.places[0]] == MASK
    words = " ".join(tokens[1:-1])
    assert words in f"a b {MASK} c"
    assert (words == f"a b {MASK} c") is (length >= 6)
