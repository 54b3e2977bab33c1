"""The data folder of published data sets: `$STEEPLECHASE_DATA`, by default `data`.

A declaration refers to a file in it as `$STEEPLECHASE_DATA/text/corpus`; in every path `~` is the home folder and
`$NAME` an environment variable.
"""

import os
import re
from pathlib import Path
from typing import ClassVar

from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import DataError, did_you_mean
from steeplechase.foundation.schema import JsonValue, Schema

VARIABLE = "STEEPLECHASE_DATA"
DEFAULT = "data"
FETCHED = "fetched"  # subfolder for `steeplechase data fetch`, with a folder per configuration
BEGINNING = re.compile(rf"\$(?:{VARIABLE}(?![A-Za-z0-9_])|\{{{VARIABLE}\}})")
ANY_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([^{}]*)\})")
PATHS = frozenset({"path", "train", "dev", "test", "init_checkpoint"})
HINT = f"`steeplechase data` lists the published data sets; they are in ${VARIABLE}, `{DEFAULT}` where it is unset"
"""The last line of every error about missing data."""


def data_folder() -> Path:
    """Return the folder of published data sets; it need not exist."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


def resolved(path: str) -> Path:
    """Return a declared path with `~`, environment variables and the data folder in their places.

    Raises DataError for a variable that is not set, unless there is a file of this very name.
    """
    variable = BEGINNING.match(path)
    start = data_folder() if variable is not None else None
    rest = path if variable is None else path[variable.end() :].lstrip("/")
    variables = (found[1] or found[2] for found in ANY_VARIABLE.finditer(rest))
    unset = [name for name in variables if name not in os.environ]
    if unset and not Path(path).exists():
        raise DataError(f"{path}: the environment variable {unset[0] or repr('')} is not set")
    if not unset:
        rest = ANY_VARIABLE.sub(lambda found: os.environ[found[1] or found[2]], rest)
    try:
        return Path(rest).expanduser() if start is None else start / rest
    except RuntimeError:  # `~name` of no user
        return Path(rest)


def similar_name(path: Path) -> str:
    """Return the end of a message about a missing path: what its folder has under a similar name, else nothing."""
    try:
        return did_you_mean(path.name, sorted(os.listdir(path.parent)), ". ", lambda name: str(path.with_name(name)))  # noqa: PTH208
    except OSError:
        return ""


def missing(*lines: str) -> DataError:
    """Return the error for missing data: its lines, then the hint."""
    return DataError((*lines, HINT))


def with_paths_as_in(document: JsonValue, other: JsonValue) -> JsonValue:
    """Return a document in which every path to the same file as in the other document is spelled as there.

    Paths are the texts named `path`, and `train`, `dev` and `test` of a table.

    A results folder stores the paths of its experiment; another spelling of a path is not another experiment.
    """
    if not isinstance(document, dict) or not isinstance(other, dict):
        return document
    return {
        name: _path_as_in(value, other.get(name)) if name in PATHS else with_paths_as_in(value, other.get(name))
        for name, value in document.items()
    }


def _path_as_in(path: JsonValue, other: JsonValue) -> JsonValue:
    if not isinstance(path, str):
        return with_paths_as_in(path, other)
    try:
        same = isinstance(other, str) and resolved(path).resolve() == resolved(other).resolve()
    except DataError:  # a variable of another machine
        same = False
    return other if same else path


def file_hash(path: Path) -> str:
    """Return the sha256 of a file. Raises DataError if it cannot be read."""
    try:
        return sha256_of(path)
    except OSError as failure:
        raise DataError(f"{path}: {failure.strerror}") from failure


class DeclaredFile(Schema):
    """A file that an experiment declares: where it is, and its identity in keys."""

    wanted: ClassVar[str]
    """What the file should be, for messages."""
    reading_version: ClassVar[int] = 1
    """Incremented when the same file is read with another result."""
    path: str

    def inputs(self) -> JsonValue:
        """Return the sha256 of the file with the version of its reader; raises DataError if it cannot be read."""
        return {"reading_version": self.reading_version, "sha256": file_hash(self.located())}

    def located(self) -> Path:
        """Return the file. Raises DataError, which says what is wanted, if there is none."""
        found = resolved(self.path)
        if not found.is_file():
            raise missing(f"{found}: no such file; {self.wanted}{similar_name(found)}")
        return found
