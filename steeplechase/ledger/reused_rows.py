"""Rows of other results that a run takes finished trials from, copied into its own results folder.

A copy is an export in `reused/` of the results folder, named by the start of its checksum file's sha256, which the
ledger has as a fact: a copy that was changed or removed is an error.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.amendments import declared_rows
from steeplechase.ledger.csv_export import ExportedLedger, read_export
from steeplechase.ledger.database import Ledger, LedgerRows
from steeplechase.ledger.facts import ReusedSource
from steeplechase.ledger.paths import CHECKSUM_FILE, EXPORT_FOLDER
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.sessions import reused_sources
from steeplechase.ledger.stage_results import FineTuneResult, PretrainResult

COPIES = "reused"
NAME_LENGTH = 12
"""Hexadecimal digits of the sha256 that name a copy."""
REUSABLE = (Status.FINISHED, Status.DIVERGED)
"""Statuses that are results; a failed stage is computed again."""


@dataclass(frozen=True)
class ReusedRow:
    """The record of one stage of a trial, and the rows that it is of."""

    record: Record
    rows: ExportedLedger


class ReusedRows:
    """Every reusable record by the key of its stage.

    One that an export hides, because its latest version leaves the row out, is none where values of single examples
    belong to it: an export has those of the rows that it shows.
    """

    def __init__(self, exports: Sequence[ExportedLedger] = ()) -> None:
        self._rows = {
            record.key: ReusedRow(record, export)
            for export in exports
            for shown in [{record.key for record in declared_rows(export).records()}]
            for record in export.records()
            if record.trial is not None and record.status in REUSABLE
            if record.key in shown or not _has_examples(record)
        }
        self._continued = {key for export in exports for key in _continued(export)}

    def find(self, key: str) -> ReusedRow | None:
        """Return the record of a stage, None if no copy has it."""
        return self._rows.get(key)

    def ends_training(self, key: str) -> bool:
        """Return whether a record may be the last training of a trial: an export has no losses of earlier ones."""
        return key not in self._continued


def _continued(export: ExportedLedger) -> Iterator[str]:
    """Yield the keys of trainings with losses of single examples that were continued to a larger budget."""
    last: dict[str, Record] = {}
    for record in declared_rows(export).records():
        if record.trial is not None and record.stage == PRETRAIN and _has_examples(record):
            if record.trial in last:
                yield last[record.trial].key
            last[record.trial] = record


def _has_examples(record: Record) -> bool:
    result = record.result
    losses = isinstance(result, PretrainResult) and result.held_out_losses is not None
    return losses or (isinstance(result, FineTuneResult) and bool(result.example_scores))


NOTHING = ReusedRows()


def reused_rows(folder: Path, rows: LedgerRows) -> ReusedRows:
    """Return the reusable records in a results folder. Raises CorruptionError if a copy is missing or was changed."""
    return ReusedRows([_copy(folder, source) for source in reused_sources(rows)])


def lender_of(folder: Path, record: Record) -> str | None:
    """Return the name of the results from which a trial's stage was taken, None where it is of this folder's own run.

    Raises CorruptionError if a copy is missing or was changed.
    """
    if not record.reused or record.trial is None:
        return None
    with closing(Ledger.at(folder)) as rows:
        sources = reused_sources(rows)
    taken = (each for each in sources if any(record.key == other.key for other in _copy(folder, each).records()))
    return next((source.name for source in taken), None)


def copy_folder(folder: Path, sha256: str) -> Path:
    """Return the folder of a copy."""
    return folder / COPIES / sha256[:NAME_LENGTH]


def _copy(folder: Path, source: ReusedSource) -> ExportedLedger:
    copy = copy_folder(folder, source.sha256)
    checksums = copy / EXPORT_FOLDER / CHECKSUM_FILE
    if not checksums.is_file() or sha256_of(checksums) != source.sha256:
        raise CorruptionError(f"{checksums}: the rows taken from {source.name} are missing or changed; restore them")
    return read_export(copy)
