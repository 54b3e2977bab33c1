"""The ledger database: every record and decision, append-only and crash-safe; the only source of truth.

SQLite with a write-ahead log and full synchronisation, written by the driver only. Every row has the sha256 of its
sequence number and content, and the numbers have no gaps, so that damaged or missing rows are detected.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Protocol, TypeVar

from steeplechase.configuration.plugin_options import add_recorded_options, plugin_options_in
from steeplechase.foundation.atomic_files import disk_refusals
from steeplechase.foundation.canonical import canonical_text, fingerprint
from steeplechase.foundation.errors import CorruptionError, MachineError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database_file import (
    SCHEMA,
    SCHEMA_VERSION,
    begin,
    for_writing,
    foreign_object,
    in_memory,
    missing_rows,
    refuse_irregular,
    writer_of,
)
from steeplechase.ledger.facts import checked_fact
from steeplechase.ledger.paths import has_export, no_ledger
from steeplechase.ledger.records import ArmRow, Decision, Record, TrialRow
from steeplechase.ledger.rows import R, document_of, parsed_text

LEDGER_NAME = "ledger.sqlite"
MACHINE_FAULTS = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
"""Error codes of the machine; every other code means a damaged file."""

HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL)
"""Error codes of locks that another program holds; the second of those of the log's index, as on NFS."""

Numbered = TypeVar("Numbered", Record, Decision)
NUMBERED_TABLES = ("records", "decisions")
"""Tables whose rows have their sequence number as a field."""


class EmptyLedger(CorruptionError):
    """A ledger without tables: its rows are lost, or its run was killed before it wrote any."""


class TrialRows(Protocol):
    """Read access to a ledger's rows but those of arms."""

    @property
    def path(self) -> Path:
        """The file or folder of the rows."""

    def fact(self, name: str) -> JsonValue:
        """Return a fact, None if it was never written."""

    def trials(self) -> tuple[TrialRow, ...]:
        """Return the trials in the order in which they were declared."""

    def records(self) -> tuple[Record, ...]:
        """Return the records in the order in which they were written."""

    def decisions(self) -> tuple[Decision, ...]:
        """Return the decisions in the order in which they were taken."""


class LedgerRows(TrialRows, Protocol):
    """Read access to a ledger's rows, in a database or in an export."""

    def arms(self) -> tuple[ArmRow, ...]:
        """Return the arms in the order of the table."""


class Ledger:
    """Append-only database: rows are added, never changed. Only the driver writes.

    `Ledger(path)` opens it for the driver; `Ledger.at(folder)` reads its present content.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self._facts: dict[str, JsonValue] | None = None
        refuse_irregular(path, read_only)
        with self._translated_errors(), disk_refusals(path):
            self._connection = in_memory(path) if read_only else for_writing(path)
        try:
            self._check() if read_only else self._open()
        except BaseException:
            self._connection.close()  # a rejected file is closed at once
            raise

    @classmethod
    def at(cls, folder: Path) -> "Ledger":
        """Read the ledger of a results folder without writing; the folder may be read-only.

        Raises MachineError if there is none or it cannot be read, CorruptionError if it is damaged.
        """
        path = folder / LEDGER_NAME
        with disk_refusals(path):
            if not path.exists():
                message = "a published report, with its rows and without stages; give the results of its run"
                raise MachineError(f"{folder}: {message if has_export(folder) else no_ledger(folder, LEDGER_NAME)}")
        return cls(path, read_only=True)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all rows that are added inside in one transaction."""
        with self._translated_errors():
            begin(self._connection, self.path)
        try:
            yield
            with self._translated_errors():
                self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # SQLite itself ends one that fills the disk
                self._connection.execute("ROLLBACK")
            self._facts = None
            raise

    def close(self) -> None:
        """Close the connection; every written row is already on disk."""
        self._connection.close()

    def set_fact(self, name: str, value: JsonValue) -> None:
        """Write a fact about the experiment; a fact that exists already is unchanged."""
        self._insert("facts", name, value, or_ignore=True)
        self._facts = None

    def fact(self, name: str) -> JsonValue:
        """Return a fact, None if it was never written."""
        return self.facts().get(name)

    def facts(self) -> dict[str, JsonValue]:
        """Return all facts by name; they are read once, since each is written once."""
        if self._facts is None:
            self._facts = {name: self._fact(name, text) for _, name, text in self._rows("facts")}
        return self._facts

    def last_trial_record(self) -> int:
        """Return the sequence number of the last record of a trial, 0 if there is none."""
        return max((record.sequence for record in self.records() if record.trial is not None), default=0)

    def add_arm(self, arm: ArmRow) -> None:
        """Write an arm before its first trial starts."""
        self._insert("arms", arm.name, document_of(arm), or_ignore=True)

    def add_trial(self, trial: TrialRow) -> None:
        """Write a trial before its first stage starts."""
        self._insert("trials", trial.name, document_of(trial), or_ignore=True)

    def add_record(self, record: Record) -> Record:
        """Write a record and return it with its sequence number; on return it is on disk."""
        return self._add("records", f"{record.trial}:{record.label}", record)

    def add_decision(self, decision: Decision) -> Decision:
        """Write a decision and return it with its sequence number; on return it is on disk."""
        return self._add("decisions", f"{decision.trial}:{decision.level}", decision)

    def _add(self, table: str, name: str, row: Numbered) -> Numbered:
        document = document_of(row)
        del document["sequence"]
        return replace(row, sequence=self._insert(table, name, document))

    def arms(self, after: int = 0) -> tuple[ArmRow, ...]:
        """Return the arms after the first `after` ones, in order; options of plugins not loaded are stand-ins."""
        for options in plugin_options_in(self.facts()):
            add_recorded_options(options)
        return self._parsed("arms", ArmRow, after)

    def trials(self) -> tuple[TrialRow, ...]:
        """Return the trials in the order in which they were declared."""
        return self._parsed("trials", TrialRow)

    def records(self) -> tuple[Record, ...]:
        """Return the records in the order in which they were written."""
        return self._parsed("records", Record)

    def decisions(self) -> tuple[Decision, ...]:
        """Return the decisions in the order in which they were taken."""
        return self._parsed("decisions", Decision)

    def _fact(self, name: str, text: str) -> JsonValue:
        try:
            return checked_fact(name, text)
        except ValueError as fault:
            raise CorruptionError(f"{self.path}: the fact {name[:80]!r}: {fault}; restore the file") from fault

    def _parsed(self, table: str, kind: type[R], after: int = 0) -> tuple[R, ...]:
        return tuple(self._row(table, kind, *row) for row in self._rows(table, after))

    def _row(self, table: str, kind: type[R], place: int, name: str, text: str) -> R:
        try:
            row = parsed_text(kind, text, {"sequence": place} if table in NUMBERED_TABLES else {})
        except (ValueError, TypeError) as fault:
            raise CorruptionError(f"{self.path}: {table} row {place}: {fault}; restore the file") from fault
        if isinstance(row, ArmRow | TrialRow) and row.name != name:
            raise CorruptionError(f"{self.path}: {table} row {place}: is not named {name[:80]!r}; restore the file")
        return row

    def _insert(self, table: str, name: str, content: JsonValue, or_ignore: bool = False) -> int:
        text = canonical_text(content)
        command = f"INSERT {'OR IGNORE ' if or_ignore else ''}INTO {table} VALUES (?, ?, ?, ?)"
        with nullcontext() if self._connection.in_transaction else self.transaction(), self._translated_errors():
            (last,) = self._connection.execute(f"SELECT COALESCE(MAX(sequence), 0) FROM {table}").fetchone()
            sequence = int(last) + 1
            self._connection.execute(command, (sequence, name, text, _checksum(sequence, name, text)))
        return sequence

    def _rows(self, table: str, after: int = 0) -> Iterator[tuple[int, str, str]]:
        with self._translated_errors():
            newer = f" WHERE sequence > {after:d}" if after else ""  # a damaged number below 1 is no row to leave out
            query = f"SELECT sequence, name, content, checksum FROM {table}{newer} ORDER BY sequence"
            rows = self._connection.execute(query).fetchall()
        for place, (sequence, name, text, checksum) in enumerate(rows, after + 1):
            if sequence != place or _checksum(place, name, text) != checksum:
                raise CorruptionError(f"{self.path}: {table} row {place}: the checksum does not match its content")
            if not (isinstance(name, str) and isinstance(text, str)):  # SQLite takes any value in any column
                raise CorruptionError(f"{self.path}: {table} row {place}: its name or content is no text")
            yield sequence, name, text

    def _open(self) -> None:
        with self._translated_errors():
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            if self._empty():  # of an earlier version, killed while it was created
                self._connection.executescript(SCHEMA)
        self._check()

    def _check(self) -> None:
        with self._translated_errors():
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            empty = self._empty()
            foreign = foreign_object(self._connection)
        if empty:
            raise EmptyLedger(f"{self.path}: is empty; restore the file, or remove it if nothing was run")
        if version != SCHEMA_VERSION:
            message = f"{self.path}: schema {version}, this version reads {SCHEMA_VERSION}; nothing was changed"
            raise CorruptionError(message)
        if foreign is not None:
            raise CorruptionError(f"{self.path}: has {foreign}, which no ledger has; remove it, or restore the file")
        with self._translated_errors():
            (sound,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if sound != "ok":
            raise CorruptionError(f"{self.path}: {sound}; restore the file or move it away")
        with self._translated_errors():
            missing = next(missing_rows(self._connection), None)
        if missing is not None:
            raise CorruptionError(f"{self.path}: {missing}; restore the file")

    def _empty(self) -> bool:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return version == 0 and not self._connection.execute("SELECT name FROM sqlite_master").fetchone()

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            code = getattr(error, "sqlite_errorcode", 0) % 256  # the rest of the code is detail
            if code in HELD:
                raise MachineError(f"{self.path}: is locked by {writer_of(self.path)}; end it first") from error
            if code in MACHINE_FAULTS:
                raise MachineError(f"{self.path}: {error}") from error
            raise CorruptionError(f"{self.path}: {error}; restore the file or move it away") from error


def numbered_facts(rows: LedgerRows, pattern: str) -> Iterator[tuple[int, dict[str, JsonValue]]]:
    """Yield the facts of a pattern with their numbers, from 1 to the last without a gap."""
    for number in count(1):
        fact = rows.fact(pattern.format(number))
        if not isinstance(fact, dict):
            return
        yield number, fact


def _checksum(sequence: int, name: str, text: str) -> str:
    return fingerprint([sequence, str(name), str(text)])
