"""The first of many mistakes, and the number of the others."""

from hypothesis import given
from hypothesis import strategies as st

from foundation.errors import LINES_SHOWN, first_lines
from tasks.labelled.mistakes import Mistakes


@given(count=st.integers(0, 60), most=st.integers(1, 30))
def test_no_mistake_is_left_out_of_the_lines_and_their_number(count: int, most: int) -> None:
    lines = [str(number) for number in range(count)]
    shown = first_lines(lines, lambda more: f"{more} more", most)
    assert shown == (lines if count <= most else [*lines[:most], f"{count - most} more"])
    assert first_lines(lines[:most], lambda more: f"{more} more", most, count) == shown


def test_the_mistakes_of_a_long_file_are_counted_and_the_first_alone_kept() -> None:
    mistakes = Mistakes("train.tsv")
    for line in range(1, 100_001):
        mistakes.add(line, "two columns, three are needed")
    assert len(mistakes.lines) == LINES_SHOWN
    assert mistakes.report[-1] == "train.tsv: 99980 more mistakes, 100000 in total"
