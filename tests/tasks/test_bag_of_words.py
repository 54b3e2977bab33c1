"""The bag of words in scripts without spaces, with combining marks, and without any letter."""

import re
from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples
from steeplechase.tasks.references.bag_of_words import bag_of_words_scores
from steeplechase.tasks.references.words import pattern_of_words

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
