"""Grids split to a width, whose every part names its rows, and numbers as text."""

from hypothesis import example, given
from hypothesis import strategies as st

from reports.number_format import counted, difference_text, p_text, short_range, simultaneous_text
from reports.sections.tokens_to_loss import ratio_text
from reports.statistics.tokens_to_loss import Ratio
from reports.table import BRIEF_ROWS, Column, Grid, grid, packed
from steeplechase.analysis.difference import ALPHA, Difference

TEXT = ("arm", "metric", "verdict")
ROWS = st.lists(
    st.tuples(*(st.sampled_from(texts) for texts in (["a", "b"], ["loss", "score"], ["better", "undecided"]))),
    min_size=1,
    max_size=8,
    unique=True,
)


def made(rows: list[tuple[str, ...]], numbers: int) -> Grid:
    columns = [*(Column(name, numeric=False) for name in TEXT), *(Column(f"number {at}") for at in range(numbers))]
    return grid("made", "Made", columns, [[*row, *(f"{at}.000" for at in range(numbers))] for row in rows])


def called(part: Grid) -> list[tuple[str, ...]]:
    places = [position for position, column in enumerate(part.columns) if not column.numeric]
    return [tuple(row[position].text for position in places) for row in part.rows]


@given(rows=ROWS, numbers=st.integers(1, 9), width=st.integers(30, 120))
def test_rows_that_differ_are_called_differently_in_every_part(
    rows: list[tuple[str, ...]], numbers: int, width: int
) -> None:
    for part in packed(made(rows, numbers), width):
        assert len(set(called(part))) == len(rows)


@given(rows=ROWS, numbers=st.integers(1, 9), width=st.integers(30, 120))
def test_every_column_is_in_one_part_and_in_order_except_names(
    rows: list[tuple[str, ...]], numbers: int, width: int
) -> None:
    full = made(rows, numbers)
    parts = packed(full, width)
    titles = [column.title for part in parts for column in part.columns]
    assert [title for title in titles if title.startswith("number")] == [f"number {at}" for at in range(numbers)]
    assert set(titles) == {column.title for column in full.columns}
    for part in parts:
        order = [column.title for column in part.columns]
        assert order == [column.title for column in full.columns if column.title in order]


def test_no_further_column_names_rows_if_the_first_is_unique() -> None:
    parts = packed(made([("a", "loss", "better"), ("b", "loss", "better")], 9), 40)
    assert len(parts) > 2
    assert called(parts[-1]) == [("a",), ("b",)]


def test_rows_with_equal_texts_are_still_named() -> None:
    parts = packed(made([("a", "loss", "better")] * 2, 9), 40)
    assert called(parts[-1]) == [("a",), ("a",)]


def test_a_long_text_is_folded_only_in_formats_with_line_breaks() -> None:
    long = grid("long", "Long", [Column("arm", numeric=False), Column("remark", numeric=False), Column("delta")],
                [["a", "word " * 20, "1.0"], ["b", "", "2.0"]])  # fmt: skip
    assert len(packed(long, 60)) == 2
    assert len(packed(long, 60, folded=30)) == 1


@given(count=st.integers(1, 3 * BRIEF_ROWS))
def test_a_brief_table_has_the_first_rows_and_says_how_many_there_are(count: int) -> None:
    full = grid("made", "Made", (Column("candidate", numeric=False),), [[f"candidate-{at}"] for at in range(count)])
    assert full.brief.rows == full.rows[:BRIEF_ROWS]
    assert (f"of {count} rows" in " ".join(full.brief.notes)) == (count > BRIEF_ROWS)


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
    bounds = low, low + width
    _, own = difference_text(Difference(3, low + width / 2, *bounds), places).removesuffix("]").split("[")
    simultaneous = simultaneous_text(*(bound or None for bound in bounds), places)
    for texts in (own.split(", "), simultaneous.split(" to ")):
        for text, bound in zip(texts, bounds, strict=True):
            if bound:
                printed = float(text.replace("−", "-"))
                assert abs(printed - bound) <= 0.5 * 10**-places + 1e-12
                assert printed * bound > 0 or abs(bound) <= 0.51 * 10 ** -(places + 3)


@given(st.floats(0.0001, 3), st.floats(0.01, 2))
@example(0.8, 0.2004)
@example(0.8, 0.1997)
def test_a_printed_ratio_is_on_the_side_of_1_where_its_interval_is(low: float, width: float) -> None:
    bounds = low, low + width
    _, texts = ratio_text(Ratio(3, low + width / 2, *bounds)).removesuffix("]").split("[")
    for text, bound in zip(texts.split(", "), bounds, strict=True):
        assert (float(text) - 1) * (bound - 1) > 0 or abs(bound - 1) <= 1e-5


@given(st.integers(0, 10_000))
def test_one_is_singular_and_every_other_count_plural(count: int) -> None:
    assert counted(count, "seed") == f"{count} seed" + "s" * (count != 1)
    assert counted(count, "file that is", "files that are").endswith("that is" if count == 1 else "that are")


def test_a_range_of_two_counts_that_read_alike_is_one_count() -> None:
    assert short_range(3_000, 6_540.2) == "3k to 6.54k"
    assert short_range(162_900, 163_100) == "163k"
