"""The data folder, where published data sets lie: `data`, or the folder that `$STEEPLECHASE_DATA` names.

A declaration names a file in it as `$STEEPLECHASE_DATA/text/corpus`; any other path is read as it is written.
"""

import os
import re
from pathlib import Path

from foundation.errors import DataError
from foundation.schema import JsonValue

VARIABLE = "STEEPLECHASE_DATA"
DEFAULT = "data"
FETCHED = "fetched"  # in the data folder: what `steeplechase data fetch` writes, a folder for each configuration
BEGINNING = re.compile(rf"\$(?:{VARIABLE}(?![A-Za-z0-9_])|\{{{VARIABLE}\}})")
HINT = f"`steeplechase data` lists the published data sets; they are in ${VARIABLE}, `{DEFAULT}` where it is unset"
"""The last line of every error about data that are missing."""


def data_folder() -> Path:
    """Return the folder of published data sets; it need not exist."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


def resolved(path: str) -> Path:
    """Return the place that a declared path names: `$STEEPLECHASE_DATA` at its beginning is the data folder."""
    variable = BEGINNING.match(path)
    if variable is None:
        return Path(path)
    return data_folder() / path[variable.end() :].lstrip("/")


def missing(*lines: str) -> DataError:
    """Return the error of data that are missing: its lines, then how to find out about data sets."""
    return DataError((*lines, HINT))


def with_paths_as_in(document: JsonValue, other: JsonValue) -> JsonValue:
    """Return a document in which every `path` that names the same place as in the other is spelled as it is there.

    A results folder keeps the paths of its experiment; another spelling of the same place is no other experiment.
    """
    if not isinstance(document, dict) or not isinstance(other, dict):
        return document
    return {
        name: _path_as_in(value, other.get(name)) if name == "path" else with_paths_as_in(value, other.get(name))
        for name, value in document.items()
    }


def _path_as_in(path: JsonValue, other: JsonValue) -> JsonValue:
    both = isinstance(path, str) and isinstance(other, str)
    return other if both and resolved(str(path)).resolve() == resolved(str(other)).resolve() else path
