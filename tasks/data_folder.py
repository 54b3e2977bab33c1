"""The data folder of published data sets: `$STEEPLECHASE_DATA`, by default `data`.

A declaration refers to a file in it as `$STEEPLECHASE_DATA/text/corpus`; other paths are used unchanged.
"""

import os
import re
from pathlib import Path

from foundation.errors import DataError
from foundation.schema import JsonValue

VARIABLE = "STEEPLECHASE_DATA"
DEFAULT = "data"
FETCHED = "fetched"  # subfolder for `steeplechase data fetch`, with a folder per configuration
BEGINNING = re.compile(rf"\$(?:{VARIABLE}(?![A-Za-z0-9_])|\{{{VARIABLE}\}})")
PATHS = frozenset({"path", "train", "dev", "test"})
HINT = f"`steeplechase data` lists the published data sets; they are in ${VARIABLE}, `{DEFAULT}` where it is unset"
"""The last line of every error about missing data."""


def data_folder() -> Path:
    """Return the folder of published data sets; it need not exist."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


def resolved(path: str) -> Path:
    """Return a declared path with a leading `$STEEPLECHASE_DATA` replaced by the data folder."""
    variable = BEGINNING.match(path)
    if variable is None:
        return Path(path)
    return data_folder() / path[variable.end() :].lstrip("/")


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
    both = isinstance(other, str)
    return other if both and resolved(str(path)).resolve() == resolved(str(other)).resolve() else path
