"""Numbers as text: a p value does not contradict the verdict beside it, and a count agrees with its noun."""

from hypothesis import example, given
from hypothesis import strategies as st

from reports.number_format import counted, difference_text, p_text
from steeplechase.analysis.difference import ALPHA, Difference


@given(st.floats(0, 1))
@example(ALPHA)
@example(0.0504)
@example(0.0496)
def test_a_printed_p_is_on_the_side_of_the_level_where_the_p_is(p: float) -> None:
    text = p_text(p)
    bound, _, number = text.rpartition(" ")
    printed = float(number)
    assert abs(printed - p) <= 0.0005 + 1e-12 or bound == "<"
    assert (bound == ">" or printed > ALPHA) == (p > ALPHA)


@given(st.floats(0.0001, 3), st.floats(-3, 3), st.integers(1, 4))
@example(2.487404, -0.002695, 1)
def test_a_printed_interval_is_on_the_side_of_0_where_the_interval_is(width: float, low: float, places: int) -> None:
    difference = Difference(3, low + width / 2, low, low + width)
    _, bounds = difference_text(difference, places).replace("−", "-").removesuffix("]").split("[")
    for text, bound in zip(bounds.split(", "), (difference.low, difference.high), strict=True):
        assert bound is not None
        assert abs(float(text) - bound) <= 0.5 * 10**-places + 1e-12
        assert float(text) * bound > 0 or abs(bound) <= 0.51 * 10 ** -(places + 3)


@given(st.integers(0, 10_000))
def test_one_is_singular_and_every_other_count_plural(count: int) -> None:
    assert counted(count, "seed") == f"{count} seed" + "s" * (count != 1)
    assert counted(count, "file that is", "files that are").endswith("that is" if count == 1 else "that are")
