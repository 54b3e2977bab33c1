"""The only import of Hugging Face's `datasets`, an optional extra: splits at a fixed revision, and fetched ones.

A revision is a commit hash: it always identifies the same files, unlike a branch or a tag.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Annotated, Any

from pydantic import AfterValidator

from steeplechase.foundation.errors import DataError, MachineError, install_extra
from steeplechase.tasks.splits import LoadedSplit, Split

FORM = re.compile(r"[0-9a-f]{40}")


def _validated(revision: str) -> str:
    if not FORM.fullmatch(revision):
        message = f"{revision!r} is not a commit hash; expected 40 hexadecimal digits"
        raise ValueError(f"{message}, since a branch or a tag may move and change results in silence")
    return revision


Commit = Annotated[str, AfterValidator(_validated)]


def streamed(name: str, subset: str | None, revision: str, split: str, wanted_by: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a split on the hub without storing them.

    Raises MachineError without the extra or the network, DataError for an unknown name, subset or split.
    """
    library = _library(wanted_by)
    with _one_line_errors(library, f"{name}@{revision}"):
        yield from library.load_dataset(name, subset, revision=revision, split=split, streaming=True)


def save_split(name: str, revision: str, split: Split, file: Path, wanted_by: str) -> int:
    """Write a split on the hub to a Parquet file and return its number of rows; raises as `streamed` does."""
    library = _library(wanted_by)
    with _one_line_errors(library, f"{name}@{revision} {split}"):
        table = library.load_dataset(name, split.configuration, revision=revision, split=split.name)
        table.to_parquet(str(file))
        return len(table)


def split_of_file(file: Path, split: Split, wanted_by: str) -> LoadedSplit:
    """Return a split from its Parquet file.

    Raises MachineError without the extra, DataError if the library cannot read the file.
    """
    library = _library(wanted_by)
    named = {split.name: [str(file)]}
    with _one_line_errors(library, f"{file.parent} {split}"), TemporaryDirectory() as cache:
        return loaded(library.load_dataset("parquet", data_files=named, split=split.name, cache_dir=cache))


def loaded(table: Any) -> LoadedSplit:
    """Return the columns of a `datasets.Dataset`."""
    columns = table.to_dict()
    for name, feature in table.features.items():
        if getattr(feature, "dtype", "") == "float32":
            columns[name] = [_shortest(value) for value in columns[name]]
    named = {name: tuple(feature.names) for name, feature in table.features.items() if hasattr(feature, "int2str")}
    return LoadedSplit(columns, named)


def _shortest(value: float | None) -> float | None:
    """Return the shortest decimal with this float32 value: 3.8 instead of 3.799999952."""
    import numpy as np

    return None if value is None else float(str(np.float32(value)))


def refuse_without_library(wanted_by: str) -> None:
    """Raise MachineError without the extra; the library is not imported."""
    if sys.modules.get("datasets", ...) is None or find_spec("datasets") is None:
        raise MachineError(f"{wanted_by} needs the extra `datasets`; {install_extra('datasets')}")


def _library(wanted_by: str) -> ModuleType:
    refuse_without_library(wanted_by)
    import datasets

    library: ModuleType = datasets
    return library


@contextmanager
def _one_line_errors(library: ModuleType, source: str) -> Iterator[None]:
    """Convert errors of the library to one line each; an unknown name raises a FileNotFoundError subclass."""
    try:
        yield
    except (FileNotFoundError, ValueError, RuntimeError, library.exceptions.DatasetsError) as wrong:
        raise DataError(f"{source}: {_first_line(wrong)}") from wrong
    except ConnectionError as failure:
        reason = "the network or the hub is unreachable"
        raise MachineError(f"{source}: {reason} ({_first_line(failure)})") from failure
    except OSError as failure:
        raise MachineError(f"{source}: {_first_line(failure)}") from failure


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
