"""SQuAD's predictions files: an object from question identifiers to texts, or to null odds."""

from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import TypeVar

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.squad.json_files import Fields, first_errors, read_json

Value = TypeVar("Value", str, float)


def read_predictions(path: Path) -> dict[str, str]:
    """Return texts by identifier; raises DataError, all mistakes at once, for values that are not texts."""
    return _read(path, "a text", lambda value: value if isinstance(value, str) else None)


def read_null_odds(path: Path) -> dict[str, float]:
    """Return odds by identifier; raises DataError, all mistakes at once, for values that are not finite numbers."""
    return _read(path, "a finite number", _number)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _read(path: Path, expected: str, read: Callable[[object], Value | None]) -> dict[str, Value]:
    fields = read_json(path).value
    if not isinstance(fields, Fields):
        raise DataError(
            f"{path.name}: expected an object from question identifiers to {expected.removeprefix('a ')}s"
        )
    mistakes = [f"{path.name}: duplicate question {name!r}" for name in fields.repeated]
    values: dict[str, Value] = {}
    for identifier, value in fields.items():
        parsed = read(value)
        if parsed is None:
            mistakes.append(f"{path.name}: question {identifier!r}: {str(value)[:40]!r} is not {expected}")
        else:
            values[identifier] = parsed
    if mistakes:
        raise DataError(first_errors(mistakes))
    return values
