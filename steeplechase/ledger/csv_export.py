"""CSV export of a ledger: one file per table, small enough to commit, from which every report can be rebuilt.

The export is lossless: reading it returns the rows of the ledger. A cell contains plain text, or JSON for a number, a
boolean or a nested value; None is an empty cell. Text that a spreadsheet would run as a formula is prefixed with an
apostrophe (CWE-1236), which reading removes. `export.json` contains the sha256 of every file, including the attached
files in `examples/`: the values of single examples, which `steeplechase.ledger.example_tables` writes and reads.
"""

import csv
import io
import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError

from steeplechase.configuration.plugin_options import OPTIONS, add_recorded_options, plugin_options_in
from steeplechase.foundation.atomic_files import remove_directory, replaced_directory, sha256_of, write_whole
from steeplechase.foundation.canonical import canonical_text, parsed_json
from steeplechase.foundation.errors import CorruptionError
from steeplechase.foundation.names import RelativeName, Sha256, inside, make_inside
from steeplechase.foundation.schema import JsonValue, first_fault
from steeplechase.ledger.amendments import FACT, OF_A_VERSION, amendments, numbered
from steeplechase.ledger.csv_cells import escaped, unescaped
from steeplechase.ledger.database import LEDGER_NAME, LedgerRows
from steeplechase.ledger.facts import checked_fact
from steeplechase.ledger.paths import CHECKSUM_FILE, EXPORT_FOLDER, has_export
from steeplechase.ledger.phase_plans import CHOICES, FINALISTS, TUNING, WINNER
from steeplechase.ledger.records import ArmRow, Decision, Record, TrialRow
from steeplechase.ledger.rows import IN_JSON, R, Row, columns, parsed, plain
from steeplechase.ledger.sessions import session_facts, source_facts
from steeplechase.ledger.task_references import PROBE_REFERENCE, REFERENCES

ATTACHMENTS = "examples"
FORMAT_VERSION = 1
FACTS = (
    "experiment",
    "scale",
    "document",
    "labels",
    "importance",
    "parents",
    "impossible",
    "manifest",
    OPTIONS,
    TUNING,
    CHOICES,
    FINALISTS,
    PROBE_REFERENCE,
    WINNER,
    REFERENCES,
)
"""Facts that are exported: the ones a report reads, and the environment of the run."""
TEXT_COLUMNS = {
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
    "final_of",
}
WHERE_SET = ("final_of", "references")
"""Columns that are written only if a row has a value: exports of before are equal."""


@dataclass(frozen=True)
class ExportedLedger:
    """The rows of an export, with the read methods of a ledger."""

    path: Path
    facts: Mapping[str, JsonValue]
    arm_rows: tuple[ArmRow, ...]
    trial_rows: tuple[TrialRow, ...]
    record_rows: tuple[Record, ...]
    decision_rows: tuple[Decision, ...]

    def fact(self, name: str) -> JsonValue:
        """Return a fact; None if it was never written."""
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
        """Return the decisions in the order in which they were written."""
        return self.decision_rows


def write_export(
    ledger: LedgerRows, folder: Path, attachments: Mapping[str, bytes] = MappingProxyType({})
) -> tuple[Path, ...]:
    """Write the export into a subfolder of an existing folder and return its files; equal rows give equal bytes.

    `attachments` maps file names to contents; they replace the attached files of an earlier export. Raises
    MachineError if the subfolder is a symbolic link, CorruptionError if the name of an attached file leaves it.
    """
    target = make_inside(folder, EXPORT_FOLDER)
    tables: dict[str, Iterable[Row]] = {
        "arms": ledger.arms(),
        "trials": ledger.trials(),
        "records": ledger.records(),
        "decisions": ledger.decisions(),
    }
    texts = {f"{name}.csv": _table(ROW_TYPES[name], rows) for name, rows in tables.items()}
    numbers = range(1, len(amendments(ledger)) + 1)
    amended = (name.format(number) for number in numbers for name in (FACT, *map(numbered, OF_A_VERSION)))
    facts = ((name, ledger.fact(name)) for name in (*FACTS, *amended, *session_facts(ledger), *source_facts(ledger)))
    texts["facts.csv"] = csv_text(FACT_COLUMNS, ((name, canonical_text(fact)) for name, fact in facts if fact))
    for name, text in texts.items():
        write_whole(target / name, text.encode())
    _write_attachments(target / ATTACHMENTS, attachments)
    file_names = [*sorted(texts), *(f"{ATTACHMENTS}/{name}" for name in sorted(attachments))]
    checksums = {"format": FORMAT_VERSION, "sha256": {name: sha256_of(target / name) for name in file_names}}
    write_whole(target / CHECKSUM_FILE, (json.dumps(checksums, indent=1) + "\n").encode())
    return tuple(target / name for name in [*file_names, CHECKSUM_FILE])


def _write_attachments(folder: Path, files: Mapping[str, bytes]) -> None:
    if not files:
        remove_directory(folder)
        return
    with replaced_directory(folder) as temporary:
        for name, content in files.items():
            inside(temporary, name).write_bytes(content)


def is_export(folder: Path) -> bool:
    """Return whether a folder has an export in place of a ledger."""
    return not (folder / LEDGER_NAME).is_file() and has_export(folder)


def read_export(folder: Path) -> ExportedLedger:
    """Return the rows of the export in a folder.

    Raises CorruptionError if a file is missing, differs from its checksum, or does not parse.
    """
    source = folder / EXPORT_FOLDER
    checksums = _checksums(source)
    for name in (*(f"{table}.csv" for table in ROW_TYPES), "facts.csv"):
        _verify_checksum(source / name, checksums.get(name))
    facts = dict(_facts(source / "facts.csv"))
    for options in plugin_options_in(facts):
        add_recorded_options(options)
    arms, trials = _rows(source / "arms.csv", ArmRow), _rows(source / "trials.csv", TrialRow)
    records, decisions = _rows(source / "records.csv", Record), _rows(source / "decisions.csv", Decision)
    _refuse_missing(source, "arm", (trial.arm for trial in trials), {arm.name for arm in arms})
    judged = [*(each.trial for each in decisions), *(each.trial for each in records if each.trial is not None)]
    _refuse_missing(source, "trial", judged, {trial.name for trial in trials})
    return ExportedLedger(source, facts, arms, trials, records, decisions)


def _refuse_missing(source: Path, kind: str, named: Iterable[str], known: Container[str]) -> None:
    for name in named:
        if name not in known:
            raise CorruptionError(f"{source}: a row is of {kind} {name[:80]!r}, which is missing; restore the files")


def _facts(path: Path) -> Iterator[tuple[str, JsonValue]]:
    for line, row in _lines(path, FACT_COLUMNS):
        try:
            yield row["name"], checked_fact(row["name"], row["content"])
        except (ValueError, KeyError) as fault:
            raise CorruptionError(f"{path}:{line}: {type(fault).__name__}: {fault}; restore the file") from fault


def attachment_names(source: Path) -> tuple[str, ...]:
    """Return the names of the attached files of the export in `source`. Raises CorruptionError."""
    prefix = f"{ATTACHMENTS}/"
    return tuple(name.removeprefix(prefix) for name in _checksums(source) if name.startswith(prefix))


def read_attachment(source: Path, name: str) -> bytes:
    """Return the content of an attached file. Raises CorruptionError if it differs from its checksum."""
    path = inside(source, f"{ATTACHMENTS}/{name}")
    _verify_checksum(path, _checksums(source).get(f"{ATTACHMENTS}/{name}"))
    return path.read_bytes()


ROW_TYPES: dict[str, type[Row]] = {"arms": ArmRow, "trials": TrialRow, "records": Record, "decisions": Decision}
"""Row type of each table, by the stem of its file."""
FACT_COLUMNS = ("name", "content")


def _table(kind: type[Row], rows: Iterable[Row]) -> str:
    values = [plain(row) for row in rows]
    names = [name for name in columns(kind) if name not in WHERE_SET or any(row[name] is not None for row in values)]
    return csv_text(tuple(names), ([_cell_of(name, row[name]) for name in names] for row in values))


def csv_text(names: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    """Return a table as CSV text; a CSV reader returns the same cells."""
    cells = [list(row) for row in rows]
    # `csv.writer` leaves a carriage return unquoted, and a reader takes it for the end of the row
    quote_all = any("\r" in cell for row in cells for cell in row)
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL)
    writer.writerow(names)
    writer.writerows(cells)
    return buffer.getvalue()


def _cell_of(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name not in TEXT_COLUMNS:
        return canonical_text(value)
    return escaped(str(value))


def _value_of(name: str, cell: str) -> Any:
    if cell == "":
        return None
    if name in TEXT_COLUMNS:
        return unescaped(cell)
    return cell if name in IN_JSON else parsed_json(cell)


def _rows(path: Path, kind: type[R]) -> tuple[R, ...]:
    rows: list[R] = []
    for line, row in _lines(path, columns(kind)):
        try:
            rows.append(parsed(kind, {name: _value_of(name, cell) for name, cell in row.items()}))
        except ValueError as fault:
            raise CorruptionError(f"{path}:{line}: {fault}; restore the file") from fault
    return tuple(rows)


def _lines(path: Path, known: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the cells by column of every row; a column that is missing keeps its default.

    Raises CorruptionError for an unknown column, and for a row with too few or too many cells.
    """
    csv.field_size_limit(2**31 - 1)  # the curves of a record are one cell
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        unknown = [name for name in header if name not in known]
        if unknown or not header:
            mistake = f"unknown columns: {', '.join(unknown)}" if unknown else "no columns"
            raise CorruptionError(
                f"{path}:1: {mistake}; a newer version may have written it. Known: {', '.join(known)}"
            )
        for cells in reader:
            if len(cells) != len(header):
                raise CorruptionError(f"{path}:{reader.line_num}: {len(cells)} cells under {len(header)} columns")
            yield reader.line_num, dict(zip(header, cells, strict=True))


def _verify_checksum(path: Path, expected: str | None) -> None:
    if not path.is_file() or sha256_of(path) != expected:
        raise CorruptionError(
            f"{path}: differs from the exported file, or is missing; restore it or publish the report again"
        )


_CHECKSUMS = TypeAdapter(dict[RelativeName, Sha256])


def _checksums(source: Path) -> dict[str, str]:
    """Return the sha256 of every file by name. Raises CorruptionError if they cannot be read."""
    try:
        content = json.loads((source / CHECKSUM_FILE).read_text(encoding="utf-8"))
        version, checksums = content["format"], _CHECKSUMS.validate_python(content["sha256"])
    except ValidationError as fault:
        raise CorruptionError(f"{source / CHECKSUM_FILE}: {first_fault(fault)}; restore the file") from fault
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as fault:
        raise CorruptionError(
            f"{source / CHECKSUM_FILE}: cannot be read ({type(fault).__name__}); restore the file"
        ) from fault
    if version != FORMAT_VERSION:
        raise CorruptionError(
            f"{source / CHECKSUM_FILE}: format {version}; this version reads format {FORMAT_VERSION}"
        )
    return checksums
