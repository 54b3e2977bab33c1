"""References of tasks: the trigram model by its equations, the bag of words, rules for extractive questions."""

import re
from collections import Counter
from itertools import cycle, islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.tasks.labelled.encoding import encode_examples
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples
from steeplechase.tasks.references import RULES
from steeplechase.tasks.references.bag_of_words import bag_of_words_scores
from steeplechase.tasks.references.extractive import Asked, answers_by_rule, extractive_scores, visible
from steeplechase.tasks.references.trigrams import SMALLEST_DISCOUNT, Trigrams
from steeplechase.tasks.references.words import pattern_of_words
from steeplechase.tasks.tokenizer import WordPieceTraining, train_tokenizer

SIZE = 5
STREAMS = st.lists(st.integers(0, SIZE - 1), max_size=80).map(np.asarray)
Gram = tuple[int, ...]


@given(STREAMS, st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
def test_what_follows_any_two_tokens_has_probability_one(stream: np.ndarray, first: int, second: int) -> None:
    found = Trigrams(stream, SIZE).probabilities(np.full(SIZE, first), np.full(SIZE, second), np.arange(SIZE))
    assert found.sum() == pytest.approx(1.0)
    assert (found > 0).all()


@given(st.lists(st.integers(0, SIZE - 1), min_size=3, max_size=80), st.tuples(*[st.integers(0, SIZE - 1)] * 3))
def test_probabilities_are_those_of_the_definition(stream: list[int], gram: tuple[int, int, int]) -> None:
    first, second, third = (np.asarray([token]) for token in gram)
    assert Trigrams(np.asarray(stream), SIZE).probabilities(first, second, third)[0] == pytest.approx(
        written_out(stream, gram)
    )


def written_out(stream: list[int], gram: Gram) -> float:
    """Return p by Chen and Goodman's equation for modified Kneser-Ney, one dictionary per order."""
    trigrams: Counter[Gram] = Counter(zip(stream, stream[1:], stream[2:], strict=False))
    pairs: Counter[Gram] = Counter(gram[1:] for gram in trigrams)
    singles: Counter[Gram] = Counter(gram[1:] for gram in pairs)
    found = 1 / SIZE
    for order, counts in enumerate((singles, pairs, trigrams), start=1):
        found = interpolated(counts, gram[3 - order :], found)
    return found


def interpolated(counts: Counter[Gram], gram: Gram, lower: float) -> float:
    own = {each: count for each, count in counts.items() if each[:-1] == gram[:-1]}
    if not own:
        return lower
    discounts = discounts_of(counts)
    total, taken = sum(own.values()), sum(discounts[min(count, 3)] for count in own.values())
    count = own.get(gram, 0)
    return (count - (discounts[min(count, 3)] if count else 0.0) + taken * lower) / total


def discounts_of(counts: Counter[Gram]) -> list[float]:
    n = Counter(counts.values())
    if not n[1] or not n[2]:
        return [0.0, 0.5, 0.5, 0.5]
    base = n[1] / (n[1] + 2 * n[2])
    three = 3 - 4 * base * n[4] / n[3] if n[3] else 2.0
    raw = [1 - 2 * base * n[2] / n[1], 2 - 3 * base * n[3] / n[2], three]
    return [0.0, *(min(max(each, SMALLEST_DISCOUNT), most) for each, most in zip(raw, (1, 2, 3), strict=True))]


TWO = DownstreamTask("mine", 1, "single", ("bad", "good"), ("accuracy",), None)
CHOICE = DownstreamTask("mine", 1, "choice", ("0", "1"), ("accuracy",), None)
CUES = {
    "Chinese": ("这本书很坏{}的", "这本书很好{}的", "一二三四五六七八九"),
    "Thai": ("หนังสือ{}แย่มาก", "หนังสือ{}ดีมาก", "กขคงจชซฐณ"),
    "vowels of Hindi": ("{} की किताब", "{} के किताब", "कखगघचछजझटठ"),
    "emoji": ("{}💩", "{}😍", "😀😁😂🤣😃😄😅😆😉"),
    "punctuation": ("{};", "{}!", ".,:?()[]/"),
}
"""By name: a text with each label, which one cue tells, and what is put into it so that no two texts are equal."""


def examples(script: str, count: int) -> tuple[Example, ...]:
    bad, good, others = CUES[script]
    between = (one + two for one in others for two in others)
    texts = ((label, text) for label, text in islice(cycle(enumerate((bad, good))), count))
    return tuple(
        Example(text.format(other), label=label) for (label, text), other in zip(texts, between, strict=False)
    )


@pytest.mark.parametrize("script", CUES)
def test_a_cue_that_tells_the_label_is_found_in_every_script(script: str) -> None:
    both = examples(script, 60)
    assert bag_of_words_scores(TWO, Examples(both[:40], both[40:])) == {"accuracy": 100.0}


@pytest.mark.parametrize("script", CUES)
def test_a_cue_of_the_right_ending_is_found_in_every_script(script: str) -> None:
    bad, good = examples(script, 80)[::2], examples(script, 80)[1::2]
    rows = tuple(
        Example("?", label=number % 2, endings=(one.first, two.first) if number % 2 else (two.first, one.first))
        for number, (one, two) in enumerate(zip(bad, good, strict=True))
    )
    assert bag_of_words_scores(CHOICE, Examples(rows[:30], rows[30:])) == {"accuracy": 100.0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's 3.14, na\u00efve_x", ["It", "s", "3", "14", "na\u00efve_x"]),
        ("e\u0301te\u0301 हिन्दी", ["e\u0301te\u0301", "हिन्दी"]),
        ("我爱NLP。日本語", [*"我爱", "NLP", *"日本語"]),
        ("น้ำดี", ["น้", "ำ", "ด\u0e35"]),
        ("كِتَابٌ שָׁלוֹם", ["كِتَابٌ", "שָׁלוֹם"]),
    ],
)
def test_the_words_of_a_text(text: str, words: list[str]) -> None:
    assert re.findall(pattern_of_words([text]), text) == words


@given(st.text(st.characters(codec="latin-1")))
def test_the_words_of_western_languages_are_runs_of_letters_and_digits(text: str) -> None:
    words = re.findall(r"\b\w+\b", text)
    assert re.findall(pattern_of_words([text]), text) == words or not words


CONTEXT = "The club of Turin won. In 1899 Ada Byron bought the small house near Lake Como for love."
ENTRIES = "alpha : float\n    The rate.\nbeta : int\n    How many rows are read."


@pytest.mark.parametrize(
    ("question", "context", "rule", "answer"),
    [
        ("Who bought the house?", CONTEXT, "whole_text", CONTEXT),
        ("Who bought the house?", CONTEXT, "best_sentence", CONTEXT[23:]),
        ("Who bought the house?", CONTEXT, "behind_question", "near Lake Como for love."),
        ("Who bought the house?", CONTEXT, "first_name", "Turin"),
        ("Who bought the house?", CONTEXT, "nearest_name", "Ada Byron"),
        ("When did Ada Byron buy it?", CONTEXT, "nearest_name", "1899"),  # names of the question are no answer
        ("beta", ENTRIES, "best_sentence", "beta : int"),
        ("beta", ENTRIES, "behind_question", ": int\n    How many rows are read."),
        ("Why?", "no such thing", "nearest_name", ""),
    ],
)
def test_rules_answer_as_they_say(question: str, context: str, rule: str, answer: str) -> None:
    """Each rule gives the piece of the context that it is named for."""
    assert answers_by_rule(Asked(question, context))[rule] == answer


def test_every_rule_is_scored_and_no_answer_only_where_a_question_has_none() -> None:
    """The rules are those that the ledger knows."""
    asked = [Asked("Who?", CONTEXT), Asked("Why?", "")]
    found = extractive_scores(asked, lambda texts: {"f1": float(len(texts))}, unanswerable=True)
    assert found.keys() == RULES.keys()
    assert "no_answer" not in extractive_scores(asked, lambda texts: {"f1": 0.0})


def test_a_rule_sees_what_truncation_left() -> None:
    """The context of a reference ends with the last token that a model has of it."""
    example = Example("small", "the small house near the lake", answer=(4, 9))
    tokenizer = train_tokenizer(WordPieceTraining(), [f"{example.second}\n"] * 20, 60)
    for length in (8, 64):
        encoded = encode_examples([example], "span", tokenizer, length)
        (seen,) = visible([example], encoded)
        assert seen.context == example.second[: int(encoded.offsets[0, :, 1].max())]
        assert (seen.context == example.second) == (length == 64)
