"""The errors that `docs/statistics.md` gives for forecast methods are those of the published ledger."""

import pytest

from benchmarks.forecast_methods import CHOSEN, POWER_LAW, rows_of
from tests.factories.paths import PUBLISHED, ROOT


@pytest.mark.parametrize("which", ["with a convolution", "all"])
def test_the_documents_row_is_what_the_ledger_gives(which: str) -> None:
    rows = [row for row in rows_of(PUBLISHED / "table2-wikipedia-former") if row[1] == which]
    count = rows[0][2]
    cells = [
        ", ".join((error, coverage, half)) if method in (POWER_LAW, CHOSEN) else error
        for _, _, _, method, error, coverage, half in rows
    ]
    expected = " | ".join((f"| table2-wikipedia-former, {which}", count, *cells)) + " |"
    assert expected in (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8").splitlines()
    assert float(rows[-1][4]) < float(rows[0][4])
