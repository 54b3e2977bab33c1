"""The only import of Hugging Face's `datasets`, an optional extra: splits at a fixed revision or in local files."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np

from foundation.errors import DataError, MachineError
from tasks.splits import LoadedSplit, Split

FORMATS: Mapping[str, Mapping[str, Any]] = {
    "parquet": {},
    "csv": {"keep_default_na": False, "skip_blank_lines": False, "float_precision": "round_trip"},
    "json": {},
}
"""The formats of local files, each with what keeps `NA` a text, an empty line a row and a number exact."""
FORMAT_OF = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}


def streamed(name: str, subset: str | None, revision: str, split: str, wanted_by: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a split on the hub without keeping them.

    Raises MachineError without the extra or the network, DataError for an unknown name, subset or split.
    """
    library = _library(wanted_by)
    with _told(library, f"{name}@{revision}"):
        yield from library.load_dataset(name, subset, revision=revision, split=split, streaming=True)


def hub_split(name: str, revision: str, split: Split, wanted_by: str) -> LoadedSplit:
    """Return a split of a data set on the hub, kept in the library's cache; raises as `streamed` does."""
    library = _library(wanted_by)
    with _told(library, f"{name}@{revision} {split}"):
        return loaded(library.load_dataset(name, split.configuration, revision=revision, split=split.name))


def save_split(name: str, revision: str, split: Split, file: Path, wanted_by: str) -> int:
    """Write a split of a data set on the hub as a Parquet file and return its rows; raises as `streamed` does."""
    library = _library(wanted_by)
    with _told(library, f"{name}@{revision} {split}"):
        table = library.load_dataset(name, split.configuration, revision=revision, split=split.name)
        table.to_parquet(str(file))
        return len(table)


def split_of_files(files: Sequence[Path], split: Split, wanted_by: str) -> LoadedSplit:
    """Return a split that lies in files of one format, in their order.

    Raises MachineError without the extra, DataError for what the library cannot read.
    """
    library = _library(wanted_by)
    kind = FORMAT_OF[files[0].suffix]
    named = {split.name: [str(path) for path in files]}
    with _told(library, f"{files[0].parent} {split}"), TemporaryDirectory() as cache:
        table = library.load_dataset(kind, data_files=named, split=split.name, cache_dir=cache, **FORMATS[kind])
        return loaded(table)


def saved_split(folder: Path, split: Split, wanted_by: str) -> LoadedSplit:
    """Return a split that `save_to_disk` wrote into a folder; raises as `split_of_files` does."""
    library = _library(wanted_by)
    with _told(library, f"{folder} {split}"):
        return loaded(library.load_from_disk(str(folder)))


def loaded(table: Any) -> LoadedSplit:
    """Return the columns of a `datasets.Dataset`."""
    columns = table.to_dict()
    for name, feature in table.features.items():
        if getattr(feature, "dtype", "") == "float32":
            columns[name] = [_shortest(value) for value in columns[name]]
    named = {name: tuple(feature.names) for name, feature in table.features.items() if hasattr(feature, "int2str")}
    return LoadedSplit(columns, named)


def _shortest(value: float | None) -> float | None:
    """Return the shortest decimal that is this number in 32 bits: 3.8, where 64 bits would say 3.799999952."""
    return None if value is None else float(str(np.float32(value)))


def _library(wanted_by: str) -> ModuleType:
    try:
        import datasets
    except ImportError as missing:
        message = f"{wanted_by} needs the extra `datasets`; run: pip install 'steeplechase[datasets]'"
        raise MachineError(message) from missing
    library: ModuleType = datasets
    return library


@contextmanager
def _told(library: ModuleType, what: str) -> Iterator[None]:
    """Turn the library's errors into one line each; an unknown name is a FileNotFoundError of its own."""
    try:
        yield
    except (FileNotFoundError, ValueError, RuntimeError, library.exceptions.DatasetsError) as wrong:
        raise DataError(f"{what}: {_first_line(wrong)}") from wrong
    except ConnectionError as failure:
        reason = "the network, or the hub, cannot be reached"
        raise MachineError(f"{what}: {reason} ({_first_line(failure)})") from failure
    except OSError as failure:
        raise MachineError(f"{what}: {_first_line(failure)}") from failure


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
