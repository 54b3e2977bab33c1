"""The database of a ledger: rows, order, atomicity, readers, kills and damage."""

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steeplechase.foundation.errors import CorruptionError, MachineError
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.database_file import killed_while_created
from steeplechase.ledger.records import Decision, Record, TrialRow
from tests.factories.ledger_rows import arm, everything, filled
from tests.factories.paths import ROOT
from tests.factories.stage_results import drawn_records

APPEND_FOREVER = """
import sys
from pathlib import Path
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.stage_results import EvaluationSetResult
from tests.factories.keys import KEY
ledger = Ledger(Path(sys.argv[1]))
for number in range(10**6):
    result = EvaluationSetResult(sequences=1, questions=number)
    ledger.add_record(Record(0, None, "evaluation_set", f"p@{number}", KEY, Status.FINISHED, result, 0.5, False))
    print(number, flush=True)
"""

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DECISIONS = st.builds(
    Decision,
    sequence=st.just(0),
    trial=TEXT,
    level=st.integers(0, 9),
    cleared=st.booleans(),
    value=st.none() | FINITE,
    threshold=st.none() | FINITE,
    cohort=st.lists(TEXT, max_size=3).map(tuple),
)


@given(
    st.lists(drawn_records(), max_size=4),
    st.lists(DECISIONS, max_size=4, unique_by=lambda one: (one.trial, one.level)),
)
@settings(max_examples=60)
def test_rows_are_returned_unchanged_with_consecutive_numbers(
    records: list[Record], decisions: list[Decision]
) -> None:
    with closing(Ledger(Path(":memory:"))) as ledger:
        written = [ledger.add_record(record) for record in records]
        decided = [ledger.add_decision(decision) for decision in decisions]
        assert [row.sequence for row in (*written, *decided)] == [
            *range(1, len(records) + 1),
            *range(1, len(decisions) + 1),
        ]
        assert [replace(record, sequence=0) for record in ledger.records()] == records
        assert (ledger.records(), ledger.decisions()) == (tuple(written), tuple(decided))


def test_nothing_that_is_written_is_ever_changed(tmp_path: Path) -> None:
    with closing(filled(tmp_path / "ledger.sqlite")) as ledger:
        before = everything(ledger)
        ledger.set_fact("labels", ["others"])
        ledger.add_arm(replace(arm(0), parameters=99))
        ledger.add_trial(TrialRow("arm-0/1", "arm-1", 7))
        assert everything(ledger) == before
        with pytest.raises(CorruptionError):
            ledger.add_decision(Decision(0, "arm-1/1", 0, False, 1.0, 2.0))
        assert everything(ledger) == before


def test_a_transaction_is_atomic(tmp_path: Path) -> None:
    with closing(filled(tmp_path / "ledger.sqlite")) as ledger:
        before = everything(ledger)
        with pytest.raises(CorruptionError), ledger.transaction():  # noqa: PT012
            ledger.add_arm(arm(7))
            ledger.add_decision(Decision(0, "arm-1/1", 0, False, 1.0, 2.0))  # it stands there already
        assert everything(ledger) == before


def test_a_number_that_is_not_finite_is_never_written(tmp_path: Path) -> None:
    with closing(filled(tmp_path / "ledger.sqlite")) as ledger:
        before = everything(ledger)
        with pytest.raises(ValueError, match="JSON"):
            ledger.add_decision(Decision(0, "arm-0/1", 0, False, float("nan"), None))
        assert everything(ledger) == before


def test_a_folder_without_a_ledger_is_refused_and_stays_empty(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="steeplechase run"):
        Ledger.at(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_read_during_writes_is_consistent_and_has_every_acknowledged_row(tmp_path: Path) -> None:
    path = tmp_path / LEDGER_NAME
    command = [sys.executable, "-c", APPEND_FOREVER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged, before = [json.loads(writer.stdout.readline())], 0
        for _ in range(4):
            acknowledged += [json.loads(writer.stdout.readline()) for _ in range(3)]
            with closing(Ledger.at(tmp_path)) as ledger:
                seen = [record.result.questions for record in ledger.records()]
                assert seen == [record.result.questions for record in ledger.records()]  # it stays as it was read
            assert seen[: len(acknowledged)] == acknowledged
            assert len(seen) >= before
            before = len(seen)
        writer.kill()
    listed = sorted(entry.name for entry in tmp_path.iterdir())
    with closing(Ledger.at(tmp_path)) as ledger:
        assert len(ledger.records()) >= before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == listed


def test_a_ledger_that_is_only_read_takes_no_row(tmp_path: Path) -> None:
    filled(tmp_path / LEDGER_NAME).close()
    before = (tmp_path / LEDGER_NAME).read_bytes()
    with closing(Ledger.at(tmp_path)) as ledger, pytest.raises(MachineError, match="readonly"):
        ledger.add_trial(TrialRow("arm-0/9", "arm-0", 9))
    assert (tmp_path / LEDGER_NAME).read_bytes() == before


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(wanted=st.integers(0, 120))
def test_every_acknowledged_row_of_a_killed_writer_is_there(tmp_path: Path, wanted: int) -> None:
    path = tmp_path / f"{wanted}.sqlite"
    command = [sys.executable, "-c", APPEND_FOREVER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = [json.loads(writer.stdout.readline()) for _ in range(wanted + 1)]
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += [json.loads(line) for line in writer.stdout if line.endswith("\n")]
    with closing(Ledger(path)) as ledger:
        kept = [record.result.questions for record in ledger.records()]
    assert kept[: len(acknowledged)] == acknowledged
    assert len(kept) <= len(acknowledged) + 1


def _flips(size: int) -> Iterator[tuple[int, int]]:
    chance = random.Random(20261121)
    for position in chance.sample(range(size), 400):
        yield position, chance.choice([0xFF, *(1 << bit for bit in range(8))])


def test_a_changed_byte_is_refused_or_harmless_and_never_a_wrong_value(tmp_path: Path) -> None:
    with closing(filled(tmp_path / "whole.sqlite")) as ledger:
        before = everything(ledger)
    whole, refused = (tmp_path / "whole.sqlite").read_bytes(), 0
    used = [place for place in range(0, len(whole), 16) if any(whole[place : place + 16])]
    for position, mask in ((used[at % len(used)] + at % 16, mask) for at, mask in _flips(len(whole))):
        damaged = bytearray(whole)
        damaged[position] ^= mask
        for leftover in tmp_path.glob("damaged*"):
            leftover.unlink(missing_ok=True)
        (tmp_path / "damaged.sqlite").write_bytes(damaged)
        try:
            with closing(Ledger(tmp_path / "damaged.sqlite")) as ledger:
                assert everything(ledger) == before, (position, mask)
        except CorruptionError:
            refused += 1
    assert refused > 130


@pytest.mark.parametrize("content", [b"", b"\x00" * 4096, b"SQLite format 3\x00" + b"\xff" * 4000, b"text\n" * 900])
def test_only_an_empty_file_becomes_a_new_ledger(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    if not content:
        Ledger(path).close()
        return
    with pytest.raises(CorruptionError):
        Ledger(path)
    assert path.read_bytes() == content


def test_another_schema_version_is_an_error_and_unchanged(tmp_path: Path) -> None:
    filled(tmp_path / "ledger.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as connection:
        connection.execute("PRAGMA user_version=7")
        connection.commit()
    before = (tmp_path / "ledger.sqlite").read_bytes()
    with pytest.raises(CorruptionError, match="schema 7, this version reads 1"):
        Ledger.at(tmp_path)
    assert (tmp_path / "ledger.sqlite").read_bytes() == before


@pytest.mark.parametrize("counted", [True, False], ids=["with counts", "of an earlier version"])
@pytest.mark.parametrize(
    ("table", "reference"),
    [("records", "rung"), ("trials", "trials"), ("arms", "arms"), ("decisions", None)],
)
def test_rows_that_are_missing_at_the_end_are_refused(
    tmp_path: Path, table: str, reference: str | None, counted: bool
) -> None:
    path = tmp_path / LEDGER_NAME
    filled(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"DELETE FROM {table} WHERE sequence > 1")
        for name in () if counted else ("facts", "arms", "trials", "records", "decisions"):
            connection.execute(f"DROP TRIGGER count_{name}")
        if not counted:
            connection.execute("DROP TABLE ends")
        connection.commit()
    if not counted and reference is None:  # nothing refers to decisions
        Ledger(path).close()
        return
    for refused in (lambda: Ledger(path), lambda: Ledger.at(tmp_path)):
        with pytest.raises(CorruptionError, match=f"{table}: has 1 of the" if counted else reference):
            refused()


def test_what_a_kill_leaves_of_a_ledgers_creation_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / LEDGER_NAME
    path.touch()
    assert not killed_while_created(path)
    (tmp_path / f"{LEDGER_NAME}-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    assert killed_while_created(path)
    filled(path).close()
    with closing(Ledger.at(tmp_path)) as ledger:
        assert len(ledger.records()) == 4


def test_a_ledger_that_cannot_be_written_is_not_there(tmp_path: Path) -> None:
    path, limits = tmp_path / LEDGER_NAME, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))  # less than an empty ledger has
    try:
        with pytest.raises(MachineError):
            Ledger(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
    filled(path).close()


def write_many(ledger: Ledger) -> None:
    """Write more facts in one transaction than a small ledger holds."""
    with ledger.transaction():
        for number in range(100):
            ledger.set_fact(f"fact {number}", "text" * 500)


def test_a_transaction_that_fills_the_disk_is_an_error_of_the_machine_and_leaves_nothing(tmp_path: Path) -> None:
    with closing(Ledger(tmp_path / LEDGER_NAME)) as ledger:
        ledger._connection.execute("PRAGMA max_page_count=20")
        with pytest.raises(MachineError, match="full"):
            write_many(ledger)
        assert ledger.facts() == {}
        ledger.set_fact("later", 1)
        assert ledger.fact("later") == 1


def test_another_writer_is_waited_for_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("steeplechase.ledger.database_file.SILENT_SECONDS", 0.05)
    path = tmp_path / LEDGER_NAME
    with closing(filled(path)) as ledger, closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, other.rollback)
        release.start()
        ledger.set_fact("later", 1)
        release.join()
        assert ledger.fact("later") == 1
    assert capsys.readouterr().err.count(f"{path}: waits for") == 1


def test_a_reader_does_not_wait_for_ever_for_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_lock(path: Path) -> sqlite3.Connection:
        error = sqlite3.OperationalError("locking protocol")  # after ten seconds of a locked index of the log
        error.sqlite_errorcode = sqlite3.SQLITE_PROTOCOL
        raise error

    monkeypatch.setattr("steeplechase.ledger.database_file.LONGEST_READ_SECONDS", 0.0)
    filled(tmp_path / LEDGER_NAME).close()
    with closing(sqlite3.connect(tmp_path / LEDGER_NAME, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=DELETE")
        other.execute("BEGIN EXCLUSIVE")
        (tmp_path / f"{LEDGER_NAME}-shm").touch()
        with pytest.raises(MachineError, match="is locked by"):
            Ledger.at(tmp_path)
    monkeypatch.setattr("steeplechase.ledger.database.in_memory", without_lock)
    with pytest.raises(MachineError, match="is locked by"):
        Ledger.at(tmp_path)
