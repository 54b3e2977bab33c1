"""N-grams, contexts and rarified examples of words."""

from collections.abc import Sequence

import numpy as np
import pytest

from search_space.rare_words import RareWords
from tasks.rare_words.contexts import contexts_at, occurrences
from tasks.rare_words.ngrams import NgramTable, ngrams_of
from tasks.rare_words.rarification import Labelled, rare_synonyms, rarify
from tasks.tokenizer import WordPiece
from tasks.vocabulary import SPECIAL_TOKENS

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


@pytest.mark.parametrize("length", [4, 5, 6, 7, 20])
def test_a_context_stays_in_its_document_and_in_its_length(length: int) -> None:
    stream = stream_of("d d d", "a b wind c", "d")
    (pieces,) = TOKENIZER.encode(["wind"])
    found = contexts_at(stream, occurrences(stream, pieces, TOKENIZER), 1, length, TOKENIZER)
    tokens = [TOKENIZER.pieces[token] for token in found.tokens[0][found.real[0]]]
    assert len(tokens) <= length
    assert tokens[0], tokens[-1] == ("[CLS]", SEPARATOR)
    assert tokens[found.places[0]] == MASK
    words = " ".join(tokens[1:-1])
    assert words in f"a b {MASK} c"
    assert (words == f"a b {MASK} c") is (length >= 6)


SYNONYMS = {"good": ["salutary", "good", "fine"], "bad": ["baleful"], "odd": ["queer"]}
COUNTS = {"good": 50, "fine": 40, "bad": 30, "salutary": 1, "odd": 2}


def first_word_decides(texts: Sequence[str]) -> list[int]:
    """Return 1 for texts with the word good, else 0."""
    return [int("good" in text.lower().split()) for text in texts]


def test_rare_synonyms_are_rare_and_of_frequent_words() -> None:
    assert rare_synonyms(SYNONYMS, COUNTS, 10) == {"good": ("salutary",), "bad": ("baleful",)}


def test_every_rarified_example_satisfies_both_conditions() -> None:
    rare = rare_synonyms(SYNONYMS, COUNTS, 10)
    examples = [
        Labelled("Good is bad", 1),
        Labelled("bad is bad", 0),  # the label does not depend on a word
        Labelled("good is wrong", 0),  # wrong from the start
        Labelled("nothing here", 0),
        Labelled("this is (bad) good", 1),
    ]
    kept = rarify(examples, first_word_decides, rare, MASK, 1)
    assert [each.example.text for each in kept] == ["Salutary is bad", "this is (bad) salutary"]
    for each in kept:
        original = each.original
        masked = original.text[: each.start] + MASK + original.text[each.start + len(each.word) :]
        assert first_word_decides([original.text]) == [original.label] == [each.example.label]
        assert first_word_decides([masked]) != [original.label]
        assert each.synonym.lower() in rare[each.word.lower()]
    assert rarify(examples, first_word_decides, {}, MASK, 1) == ()
    assert rarify([], lambda texts: [], rare, MASK, 1) == ()
