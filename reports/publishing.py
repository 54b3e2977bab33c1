"""Published reports: a folder with the ledger's rows as CSV, and the page, figures and experiment built from them.

The whole report, with every format and table, is built from the same rows where it is wanted. Equal rows give equal
bytes.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from reports.report import build
from reports.write import REPORT_FILES, differing_files, published_files, refuse_foreign, replace_files, write_report
from steeplechase.configuration.plugin_folders import COPIES, copy_plugins, recorded_plugins
from steeplechase.foundation.atomic_files import disk_refusals, make_folder
from steeplechase.foundation.errors import ConflictError, CorruptionError, MachineError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.csv_export import read_export, write_export
from steeplechase.ledger.database import LEDGER_NAME
from steeplechase.ledger.example_tables import attachments, example_tables, kept_example_tables
from steeplechase.ledger.paths import EXPORT_FOLDER, has_export
from steeplechase.ledger.snapshot import open_rows, plugin_copies, snapshot


def publish(source: Path, folder: Path, objects: str = "") -> None:
    """Export the rows of a results folder and the values of single examples, and build the page there.

    `objects` is the URL of the object store of its stages, if it may be contacted.

    Raises MachineError if the source holds no results or its stages were moved away, CorruptionError if they are
    corrupt, ConflictError if the folder has anything but an earlier publication of the experiment at its scale.
    """
    with open_rows(source) as rows:
        _refuse_other(folder, {name: rows.fact(name) for name in ("experiment", "scale")})
        files = attachments(example_tables(source, rows, objects))
        make_folder(folder)
        copy_plugins(recorded_plugins(rows.fact("document")), folder / COPIES, plugin_copies(source))
        write_export(rows, folder, files)
    rebuild(folder)


def _refuse_other(folder: Path, published: Mapping[str, JsonValue]) -> None:
    """Raise ConflictError if a folder has what no publication of an experiment left there, hidden files aside."""
    remedy = "nothing was changed. Name another folder, or move this one away"
    if has_export(folder):
        with suppress(CorruptionError):  # of rows that a killed publication replaced in part
            there = read_export(folder)
            before = {name: there.fact(name) for name in published}
            if before != published:
                named = [f"{each['experiment']} at scale {each['scale']}" for each in (before, published)]
                raise ConflictError(f"{folder}: is a published report of {' and not '.join(named)}; {remedy}")
        return
    with disk_refusals(folder):
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    begun = {EXPORT_FOLDER, COPIES}  # of a publication that was ended before its report
    other = next((name for name in names if name not in begun and not name.startswith(".")), None)
    if other is not None:
        raise ConflictError(f"{folder}: is no published report, and has {other}; {remedy}")


def rebuild(folder: Path, check: bool = False, whole_reports: Path | None = None) -> tuple[str, ...]:
    """Rebuild a published report from its rows and return the paths that changed; with `check` only compare them.

    The whole report is written into the subfolder of `whole_reports` that has the published folder's name. Raises
    MachineError if the folder holds no rows, CorruptionError if its rows were changed, ConflictError if the subfolder
    has rows of its own or files of others.
    """
    if not has_export(folder):
        raise MachineError(f"{folder}: no rows to build a report from; `steeplechase publish RESULTS {folder}`")
    whole = None if whole_reports is None else whole_reports / folder.resolve().name
    if whole is not None and (has_export(whole) or (whole / LEDGER_NAME).exists()):
        raise ConflictError(f"{whole}: has the rows of its report; choose another folder for whole reports")
    if whole is not None and not (whole / REPORT_FILES["html"]).exists():
        refuse_foreign(whole)
    report = build(snapshot(read_export(folder)), example_tables=kept_example_tables(folder))
    if whole is not None:
        make_folder(whole)
        write_report(report, whole)
    return (differing_files if check else replace_files)(folder, published_files(report))


def published_in(folder: Path) -> tuple[Path, ...]:
    """Return the sub-folders with exported rows, by name."""
    return tuple(path for path in sorted(folder.iterdir()) if has_export(path))
