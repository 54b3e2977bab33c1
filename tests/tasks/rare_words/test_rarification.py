"""Rarified examples, counts of words, and words as further tokens."""

from collections.abc import Sequence

import numpy as np
import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.rare_words.rarification import TokenizerWithWords, rare_synonyms, rarify, word_counts
from steeplechase.tasks.tokenizer import UnigramOption, WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS

SYNONYMS = {"good": ["salutary", "fine"], "bad": ["baleful"], "odd": ["queer"], "poor": ["unseen"]}
COUNTS = {"good": 50, "fine": 40, "bad": 30, "salutary": 1, "odd": 2, "baleful": 9, "poor": 20}
TOKENIZER = WordPiece([*SPECIAL_TOKENS, "a", "film", "sal", "##utary", "/", "##s", ","], lowercase=True)
TEXT = "A Salutary film, films salutary"


def example(first: str, label: int, second: str | None = None) -> Example:
    """Return a labelled text or pair."""
    return Example(first, second, label)


def good_decides(examples: Sequence[Example]) -> list[int]:
    """Return 1 for examples with the word good, else 0."""
    return [int("good" in f"{each.first} {each.second}".lower().split()) for each in examples]


def test_rare_synonyms_occur_and_are_rarer_than_their_word() -> None:
    assert rare_synonyms(SYNONYMS, COUNTS, 1, 10) == {"good": ("salutary",), "bad": ("baleful",)}
    assert rare_synonyms(SYNONYMS, COUNTS, 0, 10)["poor"] == ("unseen",)
    assert rare_synonyms(SYNONYMS, COUNTS, 2, 10) == {"bad": ("baleful",)}


def test_every_rarified_example_satisfies_both_conditions_of_the_classifier() -> None:
    rare = rare_synonyms(SYNONYMS, COUNTS, 1, 10)
    examples = [
        example("Good is bad", 1),
        example("bad is bad", 0),  # the label does not depend on a word
        example("good is wrong", 0),  # wrong from the start
        example("this is (bad) yes", 1, "and good"),
    ]
    kept = rarify(examples, good_decides, rare)
    assert [(each.example.first, each.example.second) for each in kept] == [
        ("Salutary is bad", None),
        ("this is (bad) yes", "and salutary"),
    ]
    for each in kept:
        assert good_decides([each.original]) == [each.original.label] == [each.example.label]
        assert good_decides([each.place.with_word(each.original, "")]) != [each.original.label]
        assert each.synonym in rare[each.place.word_in(each.original).lower()]
    assert rarify(examples, good_decides, {}) == ()
    assert rarify([], good_decides, rare) == ()


def test_counts_are_of_whole_words() -> None:
    documents = TOKENIZER.encode(["a film", "films salutary a salutary", "salutary"])
    stream = np.array([token for each in documents for token in (*each, TOKENIZER.separate)], np.uint16)
    assert word_counts(["a", "film", "films", "salutary"], stream, TOKENIZER) == {
        "a": 2,
        "film": 1,
        "films": 1,
        "salutary": 3,
    }
    assert word_counts(["film"], stream[:0], TOKENIZER) == {"film": 0}


@pytest.mark.parametrize("slash", [False, True])
def test_words_are_tokens_behind_the_vocabulary_and_a_slash_adds_two(slash: bool) -> None:
    size = TOKENIZER.vocabulary_size
    extended = TokenizerWithWords(TOKENIZER, ["salutary", "film"], slash)
    (plain,), (found,) = TOKENIZER.encode([TEXT]), extended.encode([TEXT])
    assert [token for token in found if token >= size] == [size, size + 1, size]  # not the film of films
    if slash:
        assert len(found) == len(plain) + 2 * 3
        between = TOKENIZER.pieces.index("/")
        assert [
            token for place, token in enumerate(found) if token < size and found[place : place + 1] != [between]
        ] == plain
    offsets = extended.encode_with_offsets([TEXT])[0].offsets
    words = {TEXT[slice(*span)] for token, span in zip(found, offsets, strict=True) if token >= size}
    assert words == {"Salutary", "film", "salutary"}


def test_text_without_such_words_is_encoded_as_before_by_tokenizers_with_spaces_in_tokens_too() -> None:
    texts = ["a salutary film is a film / and films fill"] * 3
    tokenizer = UnigramOption().tokenizer(texts, 30)
    extended = TokenizerWithWords(tokenizer, ["salutary"], False)
    assert extended.encode(["a film is a film"]) == tokenizer.encode(["a film is a film"])
    (found,) = extended.encode(["a salutary film"])
    assert found == [*tokenizer.encode(["a"])[0], 30, *tokenizer.encode(["film"])[0]]


def test_a_vocabulary_without_a_slash_refuses_the_usage() -> None:
    with pytest.raises(DataError, match="no slash"):
        TokenizerWithWords(WordPiece([*SPECIAL_TOKENS, "a"], lowercase=True), ["a"], True)
