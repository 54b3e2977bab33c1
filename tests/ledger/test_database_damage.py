"""A damaged ledger is an error and never gives wrong rows."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from foundation.errors import CorruptionError
from ledger.database import Ledger
from tests.factories.ledger_rows import everything, filled


def _flips(size: int) -> Iterator[tuple[int, int]]:
    chance = random.Random(20261121)
    for position in chance.sample(range(size), 1500):
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
    assert refused > 500


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
