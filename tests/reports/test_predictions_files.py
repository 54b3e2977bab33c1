"""Files of predictions have every character and every digit, so that scores can be computed again from them."""

import csv
from pathlib import Path

import pytest

from reports.table import table
from reports.write import write_predictions
from steeplechase.ledger.csv_cells import unescaped

TEXTS = (
    "na\u200bive",
    "two  spaces",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "a\nb",
    'a "b", c',
    "=1+1",
    "",
    " x ",
)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_and_numbers_are_what_they_were(text: str, tmp_path: Path) -> None:
    rows = [{"example": 0, "label": text, "prediction": 0.1 + 0.2, "f1": None}]
    (path,) = write_predictions(tmp_path, {"mine": table("mine", "example label prediction f1", rows)})
    with path.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert path == tmp_path / "tables" / "predictions" / "mine.csv"
    assert unescaped(row["label"]) == text
    assert float(row["prediction"]) == 0.1 + 0.2
    assert (row["example"], row["f1"]) == ("0", "")
