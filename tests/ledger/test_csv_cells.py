"""No cell is run as a formula by a spreadsheet, and every text can be read back."""

from hypothesis import given
from hypothesis import strategies as st

from ledger.csv_cells import FORMULA_STARTS, escaped, unescaped

TEXTS = st.one_of(st.text(), st.tuples(st.sampled_from([*FORMULA_STARTS, "'"]), st.text()).map("".join))


@given(TEXTS)
def test_no_cell_begins_as_a_formula_and_reading_gives_the_text_back(text: str) -> None:
    assert not escaped(text).startswith(FORMULA_STARTS)
    assert unescaped(escaped(text)) == text


@given(st.text(alphabet=st.characters(categories=["L"])))
def test_plain_words_are_unchanged(text: str) -> None:
    assert escaped(text) == text
