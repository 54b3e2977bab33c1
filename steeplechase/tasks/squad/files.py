"""SQuAD's files: a given one or that with an official name in a folder, and how their JSON is read.

Errors for invalid JSON, invalid UTF-8 and duplicate fields name file and position.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.errors import DataError, first_lines
from steeplechase.tasks.corpora.file_lines import check_signature
from steeplechase.tasks.data_folder import missing
from steeplechase.tasks.labelled.task import TaskFiles, Version, folder_within
from steeplechase.tasks.splits import Split

Part = Literal["train", "dev"]
OFFICIAL_SOURCE = "https://rajpurkar.github.io/SQuAD-explorer"
FOLDER = "squad"
CONFIGURATION: Mapping[Version, str] = {"v1.1": "plain_text", "v2.0": "squad_v2"}
"""Configurations of `rajpurkar/squad` and `rajpurkar/squad_v2` on the hub."""
LARGEST_FILE_BYTES = 2**29  # SQuAD 2.0's training file has 42 million
MOST_MISTAKES_SHOWN = 10


def published(version: Version, train_count: int, dev_count: int) -> TaskFiles:
    """Return the files of a version; a subset such as `train-v1.1.subset44.json` may replace a full file."""
    return TaskFiles(
        folder=FOLDER,
        parts={part: f"{part}-{version}*.json" for part in ("train", "dev")},
        origin=OFFICIAL_SOURCE,
        read=None,
        counts={"train": train_count, "dev": dev_count},
        splits={"train": Split(CONFIGURATION[version], "train"), "dev": Split(CONFIGURATION[version], "validation")},
    )


def squad_file(path: Path, version: Version, part: Part) -> Path:
    """Return the file of one part: `path` itself, or the file with an official name in a folder or its `squad`.

    Without the official file, a folder may have one subset of it, such as `train-v1.1.subset44.json`. Raises
    DataError, with the expected file and its origin, if there is none or several.
    """
    if not path.is_dir():
        return path
    folder = folder_within(path, FOLDER)
    official = f"{part}-{version}.json"
    if (folder / official).is_file():
        return folder / official
    candidates = sorted(each for each in folder.glob(f"{part}-{version}*.json") if each.is_file())
    if len(candidates) == 1:
        return candidates[0]
    wanted = f"expected {official} of {OFFICIAL_SOURCE}, or one subset of it named {part}-{version}.*.json"
    if candidates:
        raise DataError(f"{folder}: {', '.join(each.name for each in candidates)}: several files match; {wanted}")
    raise missing(f"{folder}: no {official}; {wanted}")


def is_official_name(path: Path, version: Version, part: Part) -> bool:
    """Whether a file has the official name; results on other files are reported with their name."""
    return path.name == f"{part}-{version}.json"


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
