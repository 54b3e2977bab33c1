"""The record on disk: one JSON file with a hash of what it holds, replaced whole and flushed, or not at all."""

import json
from pathlib import Path

from pydantic import ValidationError

from foundation.atomic_files import flush, read_regular, write_whole
from foundation.errors import CorruptionError, MachineError
from foundation.schema import fingerprint
from ledger.timing.record import TimingRecord

TIMING_NAME = "timing.json"


def has_timings(folder: Path) -> bool:
    """Return whether a results folder belongs to a timing experiment. Raises MachineError."""
    try:
        return (folder / TIMING_NAME).exists()
    except OSError as error:  # no permission, a name too long: whether there are timings cannot be known
        raise MachineError(f"{folder}: cannot be read ({error.strerror})") from error


def read(folder: Path) -> TimingRecord:
    """Return the folder's record. Raises CorruptionError where the file is not what was written."""
    path = folder / TIMING_NAME
    try:
        file = json.loads(read_regular(path))
        content = file["record"]
        if file["sha256"] != fingerprint(content):
            raise CorruptionError(_advice(path, "its content does not match its hash"))
        return TimingRecord.model_validate_json(json.dumps(content))
    except OSError as error:
        raise MachineError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptionError(_advice(path, f"it cannot be read as timings ({_first_line(error)})")) from error


def write(record: TimingRecord, folder: Path) -> None:
    """Put the record on the disk. Raises MachineError where that cannot be."""
    content = record.model_dump(mode="json")
    text = json.dumps(
        {"sha256": fingerprint(content), "record": content}, indent=1, ensure_ascii=False, allow_nan=False
    )
    try:
        write_whole(folder / TIMING_NAME, (text + "\n").encode())
        flush(folder)
    except OSError as error:
        raise MachineError(f"{folder}: cannot be written to ({error.strerror})") from error


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    return str(error).partition("\n")[0] or type(error).__name__


def _advice(path: Path, reason: str) -> str:
    return f"{path}: {reason}. Nothing was changed; move the file away to time everything anew"
