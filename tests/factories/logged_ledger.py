"""A ledger that keeps what was written to it, for the tests of everything that follows from a part of it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runners.scheduling.rows import Fact, Row
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.records import ArmRow, Decision, Record, TrialRow

Batch = list[Row]
"""Rows that are on disk together or not at all."""


class LoggedLedger(Ledger):
    """Keeps its rows batch by batch, in the order in which they were written."""

    def __init__(self, path: Path, begun: Iterable[Batch] = ()) -> None:
        self.batches: list[Batch] = []
        self._batch: Batch | None = None
        super().__init__(path)
        for batch in begun:
            with self.transaction():
                for row in batch:
                    self._write(row)

    def _write(self, row: Row) -> None:
        match row:
            case Fact(name, value):
                self.set_fact(name, value)
            case ArmRow():
                self.add_arm(row)
            case TrialRow():
                self.add_trial(row)
            case Record():
                self.add_record(row)
            case Decision():
                self.add_decision(row)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._batch = []
        with super().transaction():
            yield
        self.batches.append(self._batch)
        self._batch = None

    def _log(self, row: Row) -> None:
        if self._batch is None:
            self.batches.append([row])
        else:
            self._batch.append(row)

    def set_fact(self, name: str, value: JsonValue) -> None:
        super().set_fact(name, value)
        self._log(Fact(name, value))

    def add_arm(self, arm: ArmRow) -> None:
        super().add_arm(arm)
        self._log(arm)

    def add_trial(self, trial: TrialRow) -> None:
        super().add_trial(trial)
        self._log(trial)

    def add_record(self, record: Record) -> Record:
        added = super().add_record(record)
        self._log(added)
        return added

    def add_decision(self, decision: Decision) -> Decision:
        added = super().add_decision(decision)
        self._log(added)
        return added
