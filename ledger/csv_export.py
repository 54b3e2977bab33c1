"""A ledger as text: one CSV file per table, small enough to commit, from which every report can be made again.

Nothing is rounded: reading an export gives the rows of the ledger back. A cell holds plain text, or JSON where the
row holds a number, a truth value or something nested; None is empty. Text that a spreadsheet would run as a formula
starts with an apostrophe (CWE-1236), which reading takes off again. `export.json` has the sha256 of each file, of
attached ones in `examples/` too: the values of single examples, which `ledger.example_tables` writes and reads.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from foundation.atomic_files import remove_directory, replaced_directory, sha256_of, write_whole
from foundation.errors import CorruptionError, MachineError
from foundation.schema import JsonValue, canonical_text
from ledger.amendments import FACT, amendments
from ledger.csv_cells import escaped, unescaped
from ledger.database import LedgerRows
from ledger.records import ArmRow, Decision, Record, TrialRow
from ledger.rows import IN_JSON, R, Row, columns, parsed, plain
from ledger.sessions import session_facts
from ledger.tuning_plan import CHOICES, TUNING

EXPORT_FOLDER, SEAL = "ledger", "export.json"
ATTACHMENTS = "examples"
FORMAT_VERSION = 1
FACTS = ("experiment", "scale", "document", "labels", "importance", "impossible", "manifest", TUNING, CHOICES)
"""What a report reads of the experiment as a whole, and what the numbers were made with."""
TEXTS = {
    "name",
    "arm",
    "trial",
    "stage",
    "label",
    "key",
    "status",
    "matches",
    "matched_arm",
    "tuning_trial_of",
    "tuned_from",
}


@dataclass(frozen=True)
class ExportedLedger:
    """The rows of an export, read the way a ledger is read."""

    path: Path
    facts: Mapping[str, JsonValue]
    arm_rows: tuple[ArmRow, ...]
    trial_rows: tuple[TrialRow, ...]
    record_rows: tuple[Record, ...]
    decision_rows: tuple[Decision, ...]

    def fact(self, name: str) -> JsonValue:
        """Return a fact, None where it was never written."""
        return self.facts.get(name)

    def arms(self) -> tuple[ArmRow, ...]:
        """Return the arms in the order of the table."""
        return self.arm_rows

    def trials(self) -> tuple[TrialRow, ...]:
        """Return the trials in the order in which they were declared."""
        return self.trial_rows

    def records(self) -> tuple[Record, ...]:
        """Return the records in the order in which they were written."""
        return self.record_rows

    def decisions(self) -> tuple[Decision, ...]:
        """Return the decisions in the order in which they were taken."""
        return self.decision_rows


def has_export(folder: Path) -> bool:
    """Whether a folder holds the export of a ledger."""
    return (folder / EXPORT_FOLDER / SEAL).is_file()


def write_export(
    ledger: LedgerRows, folder: Path, attachments: Mapping[str, bytes] = MappingProxyType({})
) -> tuple[Path, ...]:
    """Write the export into a subfolder of a folder that exists and return its files; equal rows, equal bytes.

    Attached files replace those of a former export.

    Raises MachineError where the subfolder is a link.
    """
    target = folder / EXPORT_FOLDER
    if target.is_symlink():
        raise MachineError(f"{target}: is a symbolic link, and nothing is written through one; move it away")
    target.mkdir(exist_ok=True)
    tables: dict[str, Iterable[Row]] = {
        "arms": ledger.arms(),
        "trials": ledger.trials(),
        "records": ledger.records(),
        "decisions": ledger.decisions(),
    }
    texts = {f"{name}.csv": _table(KINDS[name], rows) for name, rows in tables.items()}
    added = (FACT.format(number) for number in range(1, len(amendments(ledger)) + 1))
    names = (*FACTS, *added, *session_facts(ledger))
    told = ((name, ledger.fact(name)) for name in names)
    texts["facts.csv"] = csv_text(("name", "content"), ((name, canonical_text(fact)) for name, fact in told if fact))
    for name, text in texts.items():
        write_whole(target / name, text.encode())
    _attach(target / ATTACHMENTS, attachments)
    names_of_files = [*sorted(texts), *(f"{ATTACHMENTS}/{name}" for name in sorted(attachments))]
    seal = {"format": FORMAT_VERSION, "sha256": {name: sha256_of(target / name) for name in names_of_files}}
    write_whole(target / SEAL, (json.dumps(seal, indent=1) + "\n").encode())
    return tuple(target / name for name in [*names_of_files, SEAL])


def _attach(folder: Path, files: Mapping[str, bytes]) -> None:
    if not files:
        remove_directory(folder)
        return
    with replaced_directory(folder) as temporary:
        for name, content in files.items():
            (temporary / name).write_bytes(content)


def read_export(folder: Path) -> ExportedLedger:
    """Return the rows of a folder's export. Raises CorruptionError where a file is not what was written."""
    source = folder / EXPORT_FOLDER
    _verify(source)
    facts = {row["name"]: json.loads(row["content"]) for _, row in _lines(source / "facts.csv", ("name", "content"))}
    return ExportedLedger(
        source,
        facts,
        _rows(source / "arms.csv", ArmRow),
        _rows(source / "trials.csv", TrialRow),
        _rows(source / "records.csv", Record),
        _rows(source / "decisions.csv", Decision),
    )


def attached(source: Path) -> tuple[str, ...]:
    """Return the names of an export's attached files, from the seal in its folder. Raises CorruptionError."""
    prefix = f"{ATTACHMENTS}/"
    return tuple(name.removeprefix(prefix) for name in _sealed(source) if name.startswith(prefix))


def read_attached(source: Path, name: str) -> bytes:
    """Return an attached file's content. Raises CorruptionError where it is not what was written."""
    path = source / ATTACHMENTS / name
    _refuse_changed(path, _sealed(source).get(f"{ATTACHMENTS}/{name}"))
    return path.read_bytes()


KINDS: dict[str, type[Row]] = {"arms": ArmRow, "trials": TrialRow, "records": Record, "decisions": Decision}


def _table(kind: type[Row], rows: Iterable[Row]) -> str:
    cells = ([_cell(name, value) for name, value in plain(row).items()] for row in rows)
    return csv_text(columns(kind), cells)


def csv_text(names: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    """Return a table as CSV that reads back as it was."""
    cells = [list(row) for row in rows]
    returns = any("\r" in cell for row in cells for cell in row)  # left unquoted by the writer; a reader ends there
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL)
    writer.writerow(names)
    writer.writerows(cells)
    return buffer.getvalue()


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name not in TEXTS:
        return canonical_text(value)
    return escaped(str(value))


def _value(name: str, cell: str) -> Any:
    if cell == "":
        return None
    if name in TEXTS:
        return unescaped(cell)
    return cell if name in IN_JSON else json.loads(cell)


def _rows(path: Path, kind: type[R]) -> tuple[R, ...]:
    found = []
    for line, row in _lines(path, columns(kind)):
        try:
            found.append(parsed(kind, {name: _value(name, cell) for name, cell in row.items()}))
        except (ValueError, TypeError, KeyError) as fault:
            raise CorruptionError(f"{path}:{line}: {fault}; restore the file") from fault
    return tuple(found)


def _lines(path: Path, known: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row with its line. A column that is not there has its default; one that is unknown is refused."""
    csv.field_size_limit(2**31 - 1)  # a record's curves are one cell
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        written = next(reader, [])
        unknown = [name for name in written if name not in known]
        if unknown or not written:
            told = ", ".join(unknown) or "no columns"
            raise CorruptionError(f"{path}:1: {told}; a newer version may have written it. Known: {', '.join(known)}")
        for cells in reader:
            if len(cells) != len(written):
                raise CorruptionError(f"{path}:{reader.line_num}: {len(cells)} cells under {len(written)} columns")
            yield reader.line_num, dict(zip(written, cells, strict=True))


def _verify(source: Path) -> None:
    hashes = _sealed(source)
    for name in (*(f"{table}.csv" for table in KINDS), "facts.csv"):
        _refuse_changed(source / name, hashes.get(name))


def _refuse_changed(path: Path, expected: str | None) -> None:
    if not path.is_file() or sha256_of(path) != expected:
        raise CorruptionError(f"{path}: is not what was exported; restore the file or publish the report anew")


def _sealed(source: Path) -> dict[str, str]:
    """Return the sha256 of every file by name. Raises CorruptionError."""
    try:
        seal = json.loads((source / SEAL).read_text(encoding="utf-8"))
        version, hashes = seal["format"], dict(seal["sha256"])
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise CorruptionError(
            f"{source / SEAL}: cannot be read ({type(fault).__name__}); restore the file"
        ) from fault
    if version != FORMAT_VERSION:
        raise CorruptionError(f"{source / SEAL}: format {version}, this version reads {FORMAT_VERSION}")
    return hashes
