"""Suggestions of a similar word: one function with one threshold for every message."""

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as some

from foundation.errors import ALIKE, closest, did_you_mean

ROOT = Path(__file__).parents[2]
WORDS = some.text(min_size=1, max_size=12)


@given(WORDS, some.sets(WORDS))
def test_a_known_word_is_closest_to_itself_and_suggestions_are_known(word: str, known: set[str]) -> None:
    assert closest(word, known | {word}) == word
    assert closest(word, known) in {*known, None}


@given(WORDS, some.sets(WORDS))
def test_a_suggestion_is_made_if_and_only_if_a_word_is_similar(word: str, known: set[str]) -> None:
    close = closest(word, known)
    assert did_you_mean(word, known) == ("" if close is None else f" Did you mean {close!r}?")


def test_the_threshold_is_in_shared_letters() -> None:
    assert ALIKE == 0.6
    assert closest("abcxx", ["abcyy"]) == "abcyy"  # 2 * 3 / 10
    assert closest("abxxx", ["abyyy"]) is None
    assert closest("kernel" * 10_000, ["kernel_size"]) is None


def test_there_is_only_one_comparison_of_words() -> None:
    command = ["git", "grep", "-l", "get_close_matches", "--", "*.py", ":!tests"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert found.split() == ["foundation/errors.py"]
