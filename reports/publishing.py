"""Published reports: a folder with everything that a report shows and the rows it was made from.

From those rows, the export of its ledger, the rest is made again byte for byte.
"""

from pathlib import Path

from foundation.atomic_files import make_folder, sha256_of
from foundation.errors import MachineError
from ledger.csv_export import has_export, read_export, write_export
from ledger.example_tables import attachments, example_tables
from ledger.reading import opened, refuse_former_timings
from ledger.snapshot import snapshot
from reports.write import write_report


def publish(source: Path, folder: Path) -> None:
    """Put the rows of a results folder, with the values of single examples, into another and build the report there.

    Raises MachineError where the source holds no results or its stages have been moved away, CorruptionError where
    they cannot be trusted.
    """
    with opened(source) as rows:
        files = attachments(example_tables(source, rows))
        make_folder(folder)
        write_export(rows, folder, files)
    rebuild(folder)


def rebuild(folder: Path) -> tuple[str, ...]:
    """Build a published report again and return the files that are not what they were.

    Raises MachineError where the folder holds no rows to build from, CorruptionError where they were changed.
    """
    refuse_former_timings(folder)
    if not has_export(folder):
        raise MachineError(f"{folder}: no rows to build a report from; `steeplechase publish RESULTS {folder}`")
    before = _hashes(folder)
    write_report(snapshot(read_export(folder)), folder)
    after = _hashes(folder)
    return tuple(name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name))


def published_in(folder: Path) -> tuple[Path, ...]:
    """Return the folders under a folder that a report can be built in, by name."""
    return tuple(each for each in sorted(folder.iterdir()) if has_export(each))


def _hashes(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in folder.rglob("*") if path.is_file()}
