"""Contamination: the index equals a direct implementation of the rule, and finds all planted overlaps."""

import random
import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steeplechase.tasks.contamination.index import (
    BREAK,
    FEWEST_SENTENCE_WORDS,
    PIECES_JOINED,
    RUN_WORDS,
    overlap,
    sentences_of,
    words_of,
)
from steeplechase.tasks.corpora.document import Document

WORDS = ("a", "b", "c")
"""So few that runs come back by chance, and almost come back more often."""


def documents(*texts: str) -> list[Document]:
    return [Document(f"document {number}", text) for number, text in enumerate(texts)]


def plain(text: str) -> list[str]:
    return [word for word in words_of(text + "\n") if word != BREAK]


def slowly(example: list[str], text: str) -> tuple[bool, bool]:
    """Return whether a document has a sentence and a run of an example, by direct comparison."""
    there, pieces, own = plain(text), [[]], [plain(each) for each in example]
    for word in words_of(text + "\n"):
        pieces = [*pieces, []] if word == BREAK else [*pieces[:-1], [*pieces[-1], word]]
    pieces = [piece for piece in pieces if piece]
    joined = {
        tuple(word for piece in pieces[first : first + count] for word in piece)
        for first in range(len(pieces))
        for count in range(1, PIECES_JOINED + 1)
    }
    asked = [tuple(sentence) for each in example for sentence in [*sentences_of(each), plain(each)]]
    runs = {tuple(there[first : first + RUN_WORDS]) for first in range(len(there) - RUN_WORDS + 1)}
    mine = {tuple(words[first : first + RUN_WORDS]) for words in own for first in range(len(words) - RUN_WORDS + 1)}
    return any(each in joined and len(each) >= FEWEST_SENTENCE_WORDS for each in asked), bool(runs & mine)


words = st.sampled_from(WORDS)
sentence = st.lists(words, min_size=1, max_size=7).map(" ".join)
text = st.lists(st.tuples(sentence, st.sampled_from([". ", "\n", " ", "? ", "\n\n"])), max_size=6).map(
    lambda parts: "".join(first + second for first, second in parts)
)


@settings(max_examples=100)
@given(st.lists(st.lists(text, min_size=1, max_size=2), min_size=1, max_size=4), st.lists(text, max_size=4))
def test_the_index_equals_a_direct_implementation_of_the_rule(examples: list[list[str]], corpus: list[str]) -> None:
    found = overlap(examples, documents(*corpus))
    wanted = [[slowly(example, one) for one in corpus] for example in examples]
    assert found.sentences == tuple(n for n, each in enumerate(wanted) if any(one[0] for one in each))
    assert found.runs == tuple(n for n, each in enumerate(wanted) if any(one[1] for one in each))
    for example, source in found.sources.items():
        assert any(wanted[example][int(source.removeprefix("document "))])
    assert set(found.sources) == set(found.overlapping)


def distinct(count: int, words: int, seed: int = 1) -> list[str]:
    """Return sentences that share no run of four words."""
    chance = random.Random(seed)
    letters = ["".join(chance.choices(string.ascii_lowercase, k=5)) for _ in range(5000)]
    return [" ".join(chance.choices(letters, k=words)).capitalize() + "." for _ in range(count)]


@pytest.mark.parametrize("planted", [0, 1, 7, 50])
@pytest.mark.parametrize("length", [4, 9, 13, 40])
def test_exactly_the_planted_overlaps_are_found(planted: int, length: int) -> None:
    dev, other = distinct(1000, length), distinct(300, 30, seed=2)
    chosen = random.Random(3).sample(range(1000), planted)
    lines = [*other, *(dev[number] for number in chosen)]
    random.Random(4).shuffle(lines)
    found = overlap([[each] for each in dev], documents(*(" ".join(lines[at : at + 5]) for at in range(0, 350, 5))))
    assert found.sentences == tuple(sorted(chosen))
    assert found.runs == (tuple(sorted(chosen)) if length >= RUN_WORDS else ())
    assert (found.examples, found.tested) == (1000, 1000)


def test_case_punctuation_and_line_ends_are_ignored() -> None:
    (one,) = distinct(1, 12)
    said = "“" + re.sub(" ", ", ", one.upper()[:-1]) + "!”"
    wrapped = "Before it.\n" + re.sub(r"(\S+ \S+) ", "\\1\n    ", one) + "\nAfter it."
    for hidden in (said, wrapped, f"Before it. {one} After it.", f"# {one}"):
        assert overlap([[one]], documents(hidden)).sentences == (0,), hidden


def test_the_source_is_the_first_overlapping_document_for_any_batch_size() -> None:
    dev, other = distinct(20, 8), distinct(5000, 30, seed=2)
    texts = [*other[:4000], "", *dev, *other[4000:], *dev]
    found = overlap([[each] for each in dev], documents(*texts))
    assert found.sources == {number: f"document {4001 + number}" for number in range(20)}


def test_examples_too_short_to_test_are_counted_and_never_overlap() -> None:
    found = overlap(
        [["See below."], ["dtype", "a b c"], ["one two three four"]], documents("See below.\ndtype\na b c")
    )
    assert (found.too_short, found.tested, found.overlapping) == ((0, 1), 1, ())
    assert overlap([], documents("a text")).examples == 0
    assert overlap([["a b c d e"]], []).overlapping == ()
