"""Verifies local copies of data sets against the registry, by size and sha256 of their files."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import ValidationError

from steeplechase.foundation.atomic_files import read_regular, sha256_of
from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.names import RelativeName, Sha256, inside
from steeplechase.foundation.schema import Count, Schema
from steeplechase.tasks.data_sets.registry import DataSet, RegisteredFile
from steeplechase.tasks.hub_client import Commit

MANIFEST = ".fetched.json"  # hidden, so that a corpus does not read it as text


class State(StrEnum):
    """State of a data set in the data folder."""

    ABSENT = "absent"
    INCOMPLETE = "incomplete"
    DIFFERENT = "different"
    """A file has another size or sha256 than in the registry: another version, or damage."""
    VERIFIED = "verified"
    FETCHED = "fetched"
    """Fetched from the hub and verified against its manifest; the registered files are absent."""


@dataclass(frozen=True)
class Fault:
    """A missing or different file, with a message."""

    path: Path
    message: str
    missing: bool

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(frozen=True)
class Finding:
    """State of a data set, with the faults of its files."""

    state: State
    faults: tuple[Fault, ...] = ()


class FetchedFile(Schema):
    """One fetched file: a split."""

    rows: int
    bytes: Count
    sha256: Sha256


class Manifest(Schema):
    """Manifest that `fetch` writes beside the splits."""

    name: str
    revision: Commit
    configuration: str
    files: dict[RelativeName, FetchedFile]


def find(data_set: DataSet, folder: Path) -> Finding:
    """Return the state of a data set in a data folder and every fault; raises MachineError for unreadable files."""
    checked = tuple(fault_of(folder / file.path, file) for file in data_set.files)
    faults = tuple(fault for fault in checked if fault is not None)
    if not faults:
        return Finding(State.VERIFIED)
    if any(fault is None or not fault.missing for fault in checked):
        return Finding(State.INCOMPLETE if all(fault.missing for fault in faults) else State.DIFFERENT, faults)
    fetched = data_set.fetched_in(folder)
    if fetched is None or not fetched.is_dir():
        return Finding(State.ABSENT, faults)
    wrong = tuple(_faults_of_fetched(data_set, fetched))
    return Finding(State.DIFFERENT, wrong) if wrong else Finding(State.FETCHED)


def fault_of(path: Path, expected: RegisteredFile | FetchedFile) -> Fault | None:
    """Return the fault of a file, None if it is as registered. Raises MachineError if it is unreadable."""
    try:
        size = path.stat().st_size if path.is_file() else None
        if size is None:
            return Fault(path, "is missing", missing=True)
        if size != expected.bytes:
            return Fault(path, f"{size:,} bytes; expected {expected.bytes:,}", missing=False)
        actual = sha256_of(path)
    except OSError as failure:
        raise MachineError(f"{path}: {failure.strerror}") from failure
    if actual == expected.sha256:
        return None
    return Fault(path, f"sha256 {actual[:12]}…; expected {expected.sha256[:12]}…", missing=False)


def _faults_of_fetched(data_set: DataSet, fetched: Path) -> Iterator[Fault]:
    path = fetched / MANIFEST
    try:
        manifest = Manifest.model_validate_json(read_regular(path))
    except (OSError, ValidationError, json.JSONDecodeError) as damage:
        yield Fault(path, f"does not say what was fetched ({type(damage).__name__})", missing=False)
        return
    assert data_set.hub is not None
    if (manifest.name, manifest.revision) != (data_set.hub.name, data_set.hub.revision):
        yield Fault(path, f"{manifest.name}@{manifest.revision[:12]}; expected {data_set.hub.name}", missing=False)
    for name in sorted({f"{split}.parquet" for split in data_set.hub.splits} | manifest.files.keys()):
        if name not in manifest.files:
            yield Fault(fetched / name, "was not fetched", missing=True)
        elif (fault := fault_of(inside(fetched, name), manifest.files[name])) is not None:
            yield fault
