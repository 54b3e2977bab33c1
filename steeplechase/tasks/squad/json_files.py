"""Reads JSON files; errors for invalid JSON, invalid UTF-8 and duplicate fields name file and position."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.errors import DataError, first_lines
from steeplechase.tasks.corpora.file_lines import check_signature

LARGEST_FILE_BYTES = 2**29  # SQuAD 2.0's training file has 42 million
MOST_MISTAKES_SHOWN = 10


class Fields(dict[str, Any]):
    """A JSON object with the set of its duplicate fields; the last value of a duplicate field is used."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: tuple[str, ...] = ()
        if len(self) < len(pairs):
            names = [name for name, _ in pairs]
            self.repeated = tuple(name for name in self if names.count(name) > 1)


def read_json(path: Path) -> Any:
    """Return a file's content, its objects as `Fields`.

    Raises DataError with the line, column or byte where it cannot be read.
    """
    name = path.name
    try:
        if path.is_file() and path.stat().st_size > LARGEST_FILE_BYTES:
            raise DataError(f"{name}: {path.stat().st_size} bytes; at most {LARGEST_FILE_BYTES} are read")
        raw = read_regular(path)
        check_signature(path, name, path.suffix)
    except OSError as failure:
        raise DataError(f"{path}: {failure.strerror}; expected a JSON file") from failure
    if not raw.strip():
        raise DataError(f"{name}: is empty; expected a JSON object")
    try:
        text = raw.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=Fields, parse_constant=_no_number)
    except UnicodeDecodeError as wrong:
        line = raw[: wrong.start].count(b"\n") + 1
        byte = raw[wrong.start]
        message = f"{name}:{line}: byte 0x{byte:02x} at byte offset {wrong.start} is not UTF-8"
        raise DataError(f"{message}; convert the file, for instance with iconv -f latin1 -t utf-8") from wrong
    except json.JSONDecodeError as wrong:
        offset = len(text[: wrong.pos].encode("utf-8", "surrogatepass"))
        message = f"{name}:{wrong.lineno}: column {wrong.colno} (byte offset {offset}): not JSON: {wrong.msg}"
        raise DataError(message) from wrong
    except (ValueError, RecursionError) as wrong:
        raise DataError(f"{name}: not JSON: {wrong}") from wrong


def is_valid_unicode(text: str) -> bool:
    """Whether a text can be encoded as UTF-8: JSON can contain lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def first_errors(mistakes: Iterable[str]) -> list[str]:
    """Return the first ten errors and the number of further ones."""
    return first_lines([*mistakes], lambda more: f"… and {more} more such mistakes", MOST_MISTAKES_SHOWN)


def _no_number(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")
