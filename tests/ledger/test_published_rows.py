"""Every published ledger survives a round trip through the types as the same bytes."""

from pathlib import Path

import pytest

from ledger.csv_export import read_export, write_export
from ledger.example_tables import attachments, example_tables
from ledger.paths import EXPORT_FOLDER

PUBLISHED = sorted((Path(__file__).parents[2] / "reports" / "published").glob(f"*/{EXPORT_FOLDER}"))


@pytest.mark.parametrize("ledger", PUBLISHED, ids=lambda path: path.parent.name)
def test_a_published_ledger_is_written_back_byte_for_byte(ledger: Path, tmp_path: Path) -> None:
    rows = read_export(ledger.parent)
    for written in write_export(rows, tmp_path, attachments(example_tables(ledger.parent, rows))):
        original = ledger / written.relative_to(tmp_path / EXPORT_FOLDER)
        assert written.read_bytes() == original.read_bytes(), original.name


def test_there_are_published_ledgers() -> None:
    assert len(PUBLISHED) >= 9
