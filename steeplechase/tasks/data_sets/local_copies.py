"""Local copies of data sets: fetched at the commit in the registry, verified by size and sha256 of their files."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import ValidationError

from steeplechase.foundation.atomic_files import atomic_directory, read_regular, sha256_of
from steeplechase.foundation.errors import ConflictError, DataError, MachineError
from steeplechase.foundation.names import RelativeName, Sha256, inside
from steeplechase.foundation.schema import Count, Schema
from steeplechase.tasks.data_sets.registry import DataSet, RegisteredFile
from steeplechase.tasks.hub_client import Commit, save_split
from steeplechase.tasks.splits import Split

MANIFEST = ".fetched.json"  # hidden, so that a corpus does not read it as text
WANTED_BY = "steeplechase data fetch"


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


AVAILABLE = (State.VERIFIED, State.FETCHED)


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


def refuse_unfetchable(chosen: dict[str, DataSet], folder: Path) -> None:
    """Raise DataError for every data set that is neither on the hub nor in the data folder."""
    lines = [
        f"{name}: is not fetched by this command; get it from {data_set.source} and put its files at "
        f"{_common_folder(data_set, folder)}"
        for name, data_set in chosen.items()
        if data_set.hub is None and find(data_set, folder).state not in AVAILABLE
    ]
    if lines:
        raise DataError(lines)


def fetch(data_set: DataSet, folder: Path) -> tuple[Path, bool]:
    """Write a data set's splits as Parquet files; return their folder, and whether anything was fetched.

    A verified data set is left unchanged. Raises MachineError without the extra `datasets`, the network or a writable
    disk, DataError if the hub lacks the data set, ConflictError if an incomplete or different copy exists; no partial
    files remain in these cases.
    """
    finding = find(data_set, folder)
    if finding.state is State.VERIFIED:
        return _common_folder(data_set, folder), False
    target, hub = data_set.fetched_in(folder), data_set.hub
    assert target is not None
    assert hub is not None
    if finding.state is State.FETCHED:
        return target, False
    if finding.state is not State.ABSENT:
        advice = "some of it is there already and is left as it is; complete it, or move it away"
        raise ConflictError(f"{fault}; {advice}" for fault in finding.faults)
    with _without_empty_folders(target.parent), atomic_directory(target) as writing:
        files: dict[str, FetchedFile] = {}
        for split in hub.splits:
            file = writing / f"{split}.parquet"
            rows = save_split(hub.name, hub.revision, Split(hub.configuration, split), file, WANTED_BY)
            files[file.name] = FetchedFile(rows=rows, bytes=file.stat().st_size, sha256=sha256_of(file))
        manifest = Manifest(name=hub.name, revision=hub.revision, configuration=hub.configuration, files=files)
        (writing / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n")
    return target, True


def _common_folder(data_set: DataSet, folder: Path) -> Path:
    """Return the deepest folder that holds all files of a data set."""
    parents = [Path(file.path).parents for file in data_set.files]
    return folder / next(each for each in parents[0] if all(each in others for others in parents))


@contextmanager
def _without_empty_folders(folder: Path) -> Iterator[None]:
    """Remove the folder and its parents on exit if they were created meanwhile and are empty."""
    created = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        yield
    finally:
        for each in created:
            with suppress(OSError):
                each.rmdir()
