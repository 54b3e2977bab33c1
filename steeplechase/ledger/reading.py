"""Reads the rows of a results folder, from its ledger or from its export."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from steeplechase.configuration.plugin_folders import COPIES
from steeplechase.foundation.atomic_files import disk_refusals
from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.database import LEDGER_NAME, Ledger, LedgerRows
from steeplechase.ledger.paths import ResultPaths, has_export
from steeplechase.ledger.snapshot import Snapshot, snapshot

FORMER_TIMINGS = "timing.json"
"""File in which earlier versions stored the times of a latency experiment."""


@contextmanager
def open_rows(folder: Path) -> Iterator[LedgerRows]:
    """Give the rows of a folder's ledger, or of its export if it has no ledger.

    Raises MachineError if there is neither, CorruptionError if the rows are damaged or from an earlier version.
    """
    refuse_former_timings(folder)
    if not (folder / LEDGER_NAME).is_file() and has_export(folder):
        yield read_export(folder)
        return
    with closing(Ledger.at(folder)) as ledger:
        yield ledger


def plugin_copies(folder: Path) -> Path:
    """Return the folder of the copies of a ledger's plugins; of an export they are beside its rows."""
    return (folder if not (folder / LEDGER_NAME).is_file() else ResultPaths.of(folder).root) / COPIES


def snapshot_at(folder: Path) -> Snapshot:
    """Return the snapshot of a results folder or of an export."""
    with open_rows(folder) as rows:
        return snapshot(rows)


def refuse_former_timings(folder: Path) -> None:
    """Raise CorruptionError if a folder has the times of an earlier version and no ledger."""
    path = folder / FORMER_TIMINGS
    with disk_refusals(folder):
        former = path.exists() and not (folder / LEDGER_NAME).exists() and not has_export(folder)
    if former:
        advice = "time the experiment again in another --out folder"
        raise CorruptionError(f"{path}: has times of an earlier version, which this version does not read; {advice}")
