"""A driver's death between two rows, for the tests of everything that must survive it."""

from pathlib import Path
from typing import Any

from steeplechase.ledger.database import Ledger
from tests.factories.simulated_training import Killed


class CrashingLedger(Ledger):
    """A ledger whose process is killed before it writes a certain row."""

    def __init__(self, path: Path, rows: int) -> None:
        self._left = rows
        super().__init__(path)

    def _insert(self, table: str, name: str, content: Any, or_ignore: bool = False) -> int:
        if self._left == 0:
            raise Killed
        self._left -= 1
        return super()._insert(table, name, content, or_ignore)
