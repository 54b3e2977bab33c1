"""Copies the rows of other results into a results folder, so that a run takes their finished trials."""

from collections.abc import Iterable
from pathlib import Path

from steeplechase.configuration.plugin_folders import COPIES as PLUGINS
from steeplechase.configuration.plugin_folders import copy_plugins, recorded_plugins
from steeplechase.foundation.atomic_files import make_folder, move_durably, sha256_of
from steeplechase.foundation.errors import ConflictError
from steeplechase.foundation.names import make_inside
from steeplechase.foundation.schema import JsonValue
from steeplechase.foundation.scratch import scratch_folder
from steeplechase.ledger.csv_export import write_export
from steeplechase.ledger.database import Ledger, LedgerRows
from steeplechase.ledger.example_tables import attachments, example_tables
from steeplechase.ledger.paths import CHECKSUM_FILE, EXPORT_FOLDER, ResultPaths
from steeplechase.ledger.reused_rows import COPIES, copy_folder
from steeplechase.ledger.sessions import REUSED, reused_sources, sessions
from steeplechase.ledger.snapshot import open_rows, plugin_copies


def refuse_sources(folder: Path, sources: Iterable[Path]) -> None:
    """Raise ConflictError for `folder` itself, MachineError where rows are absent, CorruptionError if damaged."""
    for source in sources:
        if source.resolve() == folder.resolve():
            raise ConflictError(f"{source}: is the results folder itself, which is resumed without --reuse")
        with open_rows(source):
            pass


def reuse(ledger: Ledger, folder: Path, sources: Iterable[Path], objects: str = "") -> None:
    """Copy the rows and the values of single examples of every source into `folder`, and write a fact for each.

    A source is a results folder or a published report that `refuse_sources` lets pass; one whose rows were copied
    before is left out. `objects` is the URL of the run's object store, which is read for sources with their stages in
    it.
    """
    copies = make_inside(folder, COPIES)
    for source in sources:
        with open_rows(source) as rows, scratch_folder(copies, ".copying-") as temporary:
            asked = objects if ResultPaths.of(source).objects == objects.rstrip("/") else ""
            write_export(rows, temporary, attachments(example_tables(source, rows, asked)))
            sha256 = sha256_of(temporary / EXPORT_FOLDER / CHECKSUM_FILE)
            known = reused_sources(ledger)
            if sha256 in {each.sha256 for each in known}:
                continue
            target = copy_folder(folder, sha256)
            make_folder(target)
            if not (target / EXPORT_FOLDER).is_dir():  # a killed run may have left the whole copy, without its fact
                copy_plugins(recorded_plugins(rows.fact("document")), target / PLUGINS, plugin_copies(source))
                move_durably(temporary / EXPORT_FOLDER, target / EXPORT_FOLDER)
            fact: dict[str, JsonValue] = {
                "name": source.resolve().name,
                "sha256": sha256,
                "machines": _machines(rows),
            }
            ledger.set_fact(REUSED.format(len(known) + 1), fact)


def _machines(rows: LedgerRows) -> list[JsonValue]:
    """Return the machines of the sessions of the rows, and of the rows that these were taken from."""
    taken = (machine for source in reused_sources(rows) for machine in source.machines)
    machines: list[JsonValue] = [dict(session.machine) for session in sessions(rows)]
    return [*machines, *(dict(machine) for machine in taken)]
