"""Reads recorded curves from a file in a known format, a results folder of this project, or a folder of files."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runners.replay.curves import own_ledger, plain
from runners.replay.curves.json_lists import listed_curves
from runners.replay.curves.plain import parsed
from runners.replay.curves.recorded import RecordedCurves, Unreadable
from steeplechase.foundation.errors import DataError, MachineError
from steeplechase.ledger.database import LEDGER_NAME
from steeplechase.tasks.corpora.file_lines import DAMAGED, check_signature, text_lines, whole_text

LISTS = tuple(f".json{packed}" for packed in ("", ".gz", ".xz"))
ENDINGS = (*LISTS, *(f".jsonl{packed}" for packed in ("", ".gz", ".xz")))
STARTS_WITH_LINE = re.compile(r"\d+:")


def read_curves(path: Path) -> tuple[RecordedCurves, ...]:
    """Return the tasks of a path, one per file.

    Raises DataError with one line per mistake of all files, MachineError if there is nothing at the path.
    """
    if not path.exists():
        raise MachineError(f"{path}: no such file or folder; give recorded curves")
    if path.is_dir() and not (path / LEDGER_NAME).is_file():
        return _read_folder(path)
    return (read_one(path),)


def _read_folder(folder: Path) -> tuple[RecordedCurves, ...]:
    paths = sorted(each for each in folder.iterdir() if each.name.endswith(ENDINGS) or (each / LEDGER_NAME).is_file())
    if not paths:
        raise DataError(f"{folder}: no curves in it; files that end in {', '.join(ENDINGS)} or a results folder")
    tasks: list[RecordedCurves] = []
    lines: list[str] = []
    for each in paths:
        try:
            tasks.append(read_one(each))
        except DataError as refusal:
            lines.extend(refusal.lines)
    if lines:
        raise DataError(lines)
    return tuple(tasks)


def read_one(path: Path) -> RecordedCurves:
    """Return the curves of a file or of a results folder. Raises DataError with one line per mistake."""
    try:
        return own_ledger.read(path) if path.is_dir() else _read_file(path)
    except Unreadable as error:
        raise DataError(
            f"{path}:{'' if STARTS_WITH_LINE.match(each) else ' '}{each}" for each in error.messages
        ) from error


def _read_file(path: Path) -> RecordedCurves:
    name = path.name
    for ending in sorted(ENDINGS, key=len, reverse=True):
        name = name.removesuffix(ending)
    if not path.name.endswith(LISTS):
        return plain.read(name, _lines(path))  # line by line: it may have millions
    return listed_curves(name, parsed(_text(path)))


def _lines(path: Path) -> Iterator[str]:
    with _refusals(path):
        yield from (line for _, line in text_lines(path, str(path)))


def _text(path: Path) -> str:
    with _refusals(path):
        return whole_text(path, str(path))


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Raise DataError for what is damaged or no text, MachineError if it cannot be read."""
    try:
        check_signature(path, str(path), path.suffix)
        yield
    except DAMAGED as error:
        raise DataError(f"{path}: damaged archive: {error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8 text") from error
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from error
