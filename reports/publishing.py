"""Published reports: a folder with a report in every format and the ledger rows behind it, exported as CSV.

Rebuilding from those rows reproduces the other files byte for byte.
"""

from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

from configuration.plugin_folders import COPIES, copy_plugins, recorded_plugins
from foundation.atomic_files import make_folder, sha256_of
from foundation.errors import MachineError
from ledger.csv_export import read_export, write_export
from ledger.example_tables import attachments, example_tables, kept_example_tables
from ledger.paths import EXPORT_FOLDER, has_export
from ledger.reading import open_rows, refuse_former_timings
from ledger.snapshot import snapshot
from reports.document import Report
from reports.report import build
from reports.write import refuse_foreign, refuse_taken, write_report


def publish(source: Path, folder: Path) -> None:
    """Export the rows of a results folder and the values of single examples, and build the report there.

    Raises MachineError if the source holds no results or its stages were moved away, CorruptionError if they are
    corrupt, ConflictError if the folder has files of others that the report would replace.
    """
    with open_rows(source) as rows:
        files = attachments(example_tables(source, rows))
        make_folder(folder)
        if not (folder / EXPORT_FOLDER).is_dir():
            refuse_foreign(folder)
        copy_plugins(recorded_plugins(rows.fact("document")), folder / COPIES)
        write_export(rows, folder, files)
    rebuild(folder)


def rebuild(folder: Path) -> tuple[str, ...]:
    """Rebuild a published report from its rows and return the files that changed.

    Raises MachineError if the folder holds no rows, CorruptionError if its rows were changed.
    """
    return _written(_built(folder), folder)


def differing_files(folder: Path) -> tuple[str, ...]:
    """Return the files that `rebuild` would change; the folder stays as it is. Raises what `rebuild` raises."""
    report = _built(folder)
    refuse_taken(folder)
    with TemporaryDirectory(prefix="steeplechase-") as scratch:
        return _written(report, copytree(folder, Path(scratch) / "report", symlinks=True))


def _built(folder: Path) -> Report:
    refuse_former_timings(folder)
    if not has_export(folder):
        raise MachineError(f"{folder}: no rows to build a report from; `steeplechase publish RESULTS {folder}`")
    return build(snapshot(read_export(folder)), example_tables=kept_example_tables(folder))


def _written(report: Report, folder: Path) -> tuple[str, ...]:
    """Write a report and return the files that changed."""
    before = _hashes(folder)
    write_report(report, folder)
    after = _hashes(folder)
    return tuple(name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name))


def published_in(folder: Path) -> tuple[Path, ...]:
    """Return the sub-folders with exported rows, by name."""
    return tuple(path for path in sorted(folder.iterdir()) if has_export(path))


def _hashes(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in folder.rglob("*") if path.is_file()}
