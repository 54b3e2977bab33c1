"""Suggestions of similar words, and mistakes that are counted."""

from hypothesis import given
from hypothesis import strategies as some
from hypothesis import strategies as st

from steeplechase.foundation.errors import ALIKE, LINES_SHOWN, closest, did_you_mean, first_lines
from steeplechase.foundation.other_names import OTHER_VALUES
from steeplechase.tasks.labelled.mistakes import Mistakes
from tests.factories.paths import ROOT

WORDS = some.text(min_size=1, max_size=12)


@given(WORDS, some.sets(WORDS))
def test_a_known_word_is_closest_to_itself_and_suggestions_are_known(word: str, known: set[str]) -> None:
    assert closest(word, known | {word}) == word
    assert closest(word, known) in {*known, None}


@given(WORDS, some.sets(WORDS))
def test_a_suggestion_is_made_if_and_only_if_a_word_is_similar(word: str, known: set[str]) -> None:
    close = closest(word, known)
    assert did_you_mean(word, known) == ("" if close is None else f" Did you mean {close!r}?")


def test_another_case_and_punctuation_are_the_same_word() -> None:
    tasks = ["cola", "mnli", "sst2", "squad_v1_1"]
    assert [closest(word, tasks) for word in ("SST-2", "MNLI", "SQuAD v1.1", "...")] == [
        "sst2",
        "mnli",
        "squad_v1_1",
        None,
    ]


def test_values_of_others_lead_to_values_here_and_not_to_words_of_like_letters() -> None:
    assert closest("gpu", ["cpu", "cuda"]) == "cuda"
    assert closest("RoPE", ["learned", "rotary"]) == "rotary"
    schema = (ROOT / "experiments/schema.json").read_text(encoding="utf-8")
    assert all(f'"{name}"' in schema for name in OTHER_VALUES)


def test_the_threshold_is_in_shared_letters() -> None:
    assert ALIKE == 0.6
    assert closest("abcxx", ["abcyy"]) == "abcyy"  # 2 * 3 / 10
    assert closest("abxxx", ["abyyy"]) is None
    assert closest("kernel" * 10_000, ["kernel_size"]) is None


@given(count=st.integers(0, 60), most=st.integers(1, 30))
def test_no_mistake_is_left_out_of_the_lines_and_their_number(count: int, most: int) -> None:
    lines = [str(number) for number in range(count)]
    shown = first_lines(lines, lambda more: f"{more} more", most)
    assert shown == (lines if count <= most else [*lines[:most], f"{count - most} more"])
    assert first_lines(lines[:most], lambda more: f"{more} more", most, count) == shown


def test_the_beginning_of_a_name_suggests_it() -> None:
    """`neobert` has more letters in common with `bert` than `bert-base` has."""
    assert closest("bert", ["neobert", "bert-base"]) == "bert-base"
    assert closest("ber", ["xbex", "bert-base"]) is None


def test_the_mistakes_of_a_long_file_are_counted_and_the_first_alone_kept() -> None:
    mistakes = Mistakes("train.tsv")
    for line in range(1, 100_001):
        mistakes.add(line, f"{line} columns, three are needed")
    assert len(mistakes.report) == LINES_SHOWN + 1
    assert mistakes.report[-1] == "train.tsv: 99980 more mistakes, 100000 in total"
