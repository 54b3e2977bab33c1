"""What lies in a results folder: a ledger, or the export of one. Both give the same rows."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ledger.csv_export import has_export, read_export
from ledger.database import LEDGER_NAME, Ledger, LedgerRows
from ledger.snapshot import Snapshot, snapshot


@contextmanager
def opened(folder: Path) -> Iterator[LedgerRows]:
    """Give the rows of a folder: its ledger's, or its export's where it has no ledger.

    Raises MachineError where there is neither, Corruption where what is there cannot be trusted.
    """
    if not (folder / LEDGER_NAME).is_file() and has_export(folder):
        yield read_export(folder)
        return
    with closing(Ledger.at(folder)) as ledger:
        yield ledger


def snapshot_at(folder: Path) -> Snapshot:
    """Return how the experiment of a results folder or of an export stands."""
    with opened(folder) as rows:
        return snapshot(rows)
