"""What lies in a results folder: a ledger, or the export of one. Both give the same rows."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from foundation.atomic_files import disk_refusals
from foundation.errors import CorruptionError
from ledger.csv_export import has_export, read_export
from ledger.database import LEDGER_NAME, Ledger, LedgerRows
from ledger.snapshot import Snapshot, snapshot

FORMER_TIMINGS = "timing.json"
"""Where earlier versions kept the times of a latency experiment."""


@contextmanager
def opened(folder: Path) -> Iterator[LedgerRows]:
    """Give the rows of a folder: its ledger's, or its export's where it has no ledger.

    Raises MachineError where there is neither, CorruptionError where what is there cannot be trusted or is of an
    earlier version.
    """
    refuse_former_timings(folder)
    if not (folder / LEDGER_NAME).is_file() and has_export(folder):
        yield read_export(folder)
        return
    with closing(Ledger.at(folder)) as ledger:
        yield ledger


def snapshot_at(folder: Path) -> Snapshot:
    """Return how the experiment of a results folder or of an export stands."""
    with opened(folder) as rows:
        return snapshot(rows)


def refuse_former_timings(folder: Path) -> None:
    """Raise CorruptionError where a folder holds the times of an earlier version and no ledger."""
    path = folder / FORMER_TIMINGS
    with disk_refusals(folder):
        former = path.exists() and not (folder / LEDGER_NAME).exists() and not has_export(folder)
    if former:
        advice = "time the experiment again in another --out folder"
        raise CorruptionError(f"{path}: holds times of an earlier version, which this one does not read; {advice}")
