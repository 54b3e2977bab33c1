"""The artifact store: one folder per finished stage, named by its key, written atomically and verified when read.

A stage is computed in its own folder under `unfinished/`; its files are fsynced, a manifest with the sha256 of every
file is added, and the folder is renamed into place. The manifest has the stage's kind and key, so that a folder under
another stage's name is an error.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from steeplechase.foundation.atomic_files import (
    disk_refusals,
    flush,
    link_or_copy,
    move_durably,
    read_regular,
    remove_strays,
    sha256_of,
    write_whole,
)
from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.errors import CorruptionError, MachineError
from steeplechase.foundation.locking import Holder, holder_of, locked, sign
from steeplechase.foundation.names import RelativeName, Sha256, checked_sha256, inside, make_inside, relative_name
from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.ledger.records import Status

MANIFEST = "manifest.json"
UNFINISHED = "unfinished"
PROGRESS = "progress"
MANIFEST_VERSION = 2
"""Version 1 lacks the stage's kind and key and is not read."""


@dataclass(frozen=True)
class Outcome:
    """Status, result and duration of a stage."""

    status: Status
    result: Mapping[str, JsonValue]
    seconds: float
    """Duration of the computation, without imports, start of the worker and verification of inputs."""
    warm_up_seconds: float | None = None
    """Seconds that the worker process had spent on preparation when this stage began.

    None if `seconds` is not exactly the duration of the entire computation: the stage was resumed after a kill, or an
    earlier version included the start of the process.
    """


class ArtifactStore:
    """Stage results by kind and key, shared by all experiments under one results root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lenders: tuple[ArtifactStore, ...] = ()
        """Stores whose finished stages may be borrowed."""
        self._verified: set[Path] = set()

    @property
    def whereabouts(self) -> str:
        """Where files that are not there may be, and how a command reads them."""
        return "bring the stages back, or read the folder where they are"

    def folder(self, kind: str, key: str) -> Path:
        """Return the folder of a finished stage; of an object store that of its copy.

        Raises CorruptionError if the kind is no name, or the key no digest.
        """
        return self.root.joinpath(*_checked(kind, key))

    def progress_file(self, key: str) -> Path:
        """Return the file in which a running stage reports its progress."""
        return inside(self.root, f"{PROGRESS}/{key}.json")

    def may_have(self, kind: str) -> bool:
        """Return whether any stage of a kind may be finished: keys of thousands of stages take seconds."""
        return (self.root / kind).exists()

    def has(self, kind: str, key: str) -> bool:
        """Return whether a stage is finished. Raises CorruptionError where something else has its place."""
        folder = self.folder(kind, key)
        if folder.is_dir():
            return True
        if folder.is_symlink() or folder.exists():  # a link to nothing does not exist
            raise CorruptionError(advice(folder, "it is no folder"))
        return False

    def file(self, kind: str, key: str, name: str) -> Path:
        """Return one file of a stage; it does not exist if the stage has none or is not finished."""
        return inside(self.folder(kind, key), name)

    def outcome(self, kind: str, key: str) -> Outcome | None:
        """Return a finished stage's outcome, None if it has not been computed. Raises CorruptionError."""
        if not self.has(kind, key):
            return None
        return read_manifest(self.folder(kind, key), kind, key).outcome

    def read(self, kind: str, key: str) -> Path:
        """Return the folder of a finished stage after verifying every file's hash.

        Raises MachineError if it is not there, CorruptionError if it is damaged.
        """
        folder = self.folder(kind, key)
        if folder not in self._verified:
            if not folder.exists():
                remedy = "bring it back, or run into another --out folder with --reuse of this one"
                raise MachineError(f"{folder}: the files of this stage are missing, and they are needed; {remedy}")
            if differing := read_manifest(folder, kind, key).differing_in(folder):
                raise CorruptionError(advice(folder, f"{differing[0]} differs from what was written"))
            self._verified.add(folder)
        return folder

    @contextmanager
    def computing(self, key: str, driver: str = "") -> Iterator[Path]:
        """Lock a stage for this process and give its work folder, with the files that a killed run left.

        It waits for another process that computes the stage; the driver tells so, as `holder` names it. Raises
        MachineError if the stage's lock file cannot be opened or locked.
        """
        unfinished = make_inside(self.root, UNFINISHED)
        with locked(self._lock_file(key)) as descriptor:
            with disk_refusals(unfinished):
                sign(descriptor, driver)
            folder = make_inside(unfinished, key)
            remove_strays(folder)
            try:
                yield folder
            finally:
                with suppress(IsADirectoryError):  # a folder in its place is no reason to fail the stage
                    self.progress_file(key).unlink(missing_ok=True)
                self._lock_file(key).unlink(missing_ok=True)

    def holder(self, key: str) -> Holder | None:
        """Return the process that computes a stage, with the driver of its run; None if none does."""
        return holder_of(self._lock_file(key))

    def _lock_file(self, key: str) -> Path:
        return inside(self.root, f"{UNFINISHED}/{key}.lock")

    def publish(
        self, kind: str, key: str, work: Path, outcome: Outcome, inputs: Mapping[str, str] | None = None
    ) -> Outcome:
        """Move a stage's work folder into place, fsynced on return, and return the outcome that the store has.

        `inputs` has the keys of the stages it read.
        """
        seal(kind, key, work, outcome, inputs)
        self._move(kind, key, work)
        return outcome

    def lender_of(self, kind: str, key: str) -> "ArtifactStore | None":
        """Return the first lender that has a stage."""
        return next((each for each in self.lenders if each.has(kind, key)), None)

    def borrow(self, kind: str, key: str) -> Outcome | None:
        """Take a finished stage of a lender over, verified, and return its outcome; None if none has it.

        Raises CorruptionError if it is damaged there.
        """
        lender = self.lender_of(kind, key)
        if lender is None:
            return None
        source = lender.read(kind, key)
        manifest = read_manifest(source, kind, key)
        with self.computing(key) as work, disk_refusals(work):
            shutil.rmtree(work)  # what a killed run left
            work.mkdir()
            for name in manifest.files:
                target = inside(work, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(inside(source, name), target)
            self.publish(kind, key, work, manifest.outcome, manifest.inputs)
        return self.outcome(kind, key)

    def _move(self, kind: str, key: str, work: Path) -> None:
        """Move a sealed work folder into place, unless the stage is there; fsynced on return."""
        target = self.folder(kind, key)
        make_inside(self.root, kind)
        if target.is_dir():
            shutil.rmtree(work)
            return
        move_durably(work, target)
        flush(self.root)


class StageManifest(Schema):
    """What a finished stage is: its result, and the hash of each of its files."""

    version: int = 1
    kind: str = ""
    key: Sha256 = ""
    inputs: dict[str, Sha256] = Field(default_factory=dict)
    """Keys of the input stages, by input name."""
    status: str
    result: dict[str, JsonValue]
    seconds: float
    warm_up_seconds: float | None = None
    files: dict[RelativeName, Sha256]
    """sha256 by name."""
    seal: str = ""
    """Fingerprint of all other fields."""

    @property
    def outcome(self) -> Outcome:
        """What the stage has measured, as its record has it."""
        return Outcome(Status(self.status), self.result, self.seconds, self.warm_up_seconds)

    def differing_in(self, folder: Path) -> list[str]:
        """Return the files that are missing in a folder or have another content."""
        found = ((inside(folder, name), name, expected) for name, expected in self.files.items())
        return [name for file, name, expected in found if not file.is_file() or sha256_of(file) != expected]

    def sealed(self) -> "StageManifest":
        """Return the manifest with its seal."""
        return self.model_copy(update={"seal": fingerprint(self.model_dump(exclude={"seal"}))})


def seal(kind: str, key: str, work: Path, outcome: Outcome, inputs: Mapping[str, str] | None) -> StageManifest:
    """Write the manifest of a finished stage into its work folder, with the hash of every file."""
    files = sorted(path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file())
    hashes = {name: sha256_of(work / name) for name in files if name != MANIFEST}
    unsealed = StageManifest(
        version=MANIFEST_VERSION,
        kind=kind,
        key=key,
        inputs=dict(inputs or {}),
        status=outcome.status.value,
        result=dict(outcome.result),
        seconds=outcome.seconds,
        warm_up_seconds=outcome.warm_up_seconds,
        files=hashes,
    )
    manifest = unsealed.sealed()
    write_whole(work / MANIFEST, manifest.model_dump_json().encode())
    return manifest


def read_manifest(folder: Path, kind: str, key: str) -> StageManifest:
    """Return the manifest of a stage's folder. Raises CorruptionError if it is damaged or of another stage."""
    if folder.is_symlink():
        raise CorruptionError(advice(folder, "is a symbolic link, and none is followed here"))
    try:
        content = read_regular(inside(folder, MANIFEST))
    except OSError as error:
        raise CorruptionError(advice(folder, f"its manifest cannot be read ({type(error).__name__})")) from error
    return manifest_in(content, folder, kind, key)


def manifest_in(content: bytes, place: Path | str, kind: str, key: str) -> StageManifest:
    """Return the manifest of the stage at a place. Raises CorruptionError if it is damaged or of another stage."""
    try:
        manifest = StageManifest.model_validate_json(content)
    except ValueError as error:
        raise CorruptionError(advice(place, f"its manifest cannot be read ({_reason(error)})")) from error
    if manifest.version != MANIFEST_VERSION:
        fault = f"its manifest has version {manifest.version}, this version reads {MANIFEST_VERSION}"
        why = "; version 1 does not identify the stage" if manifest.version == 1 else ""
        store = str(place).rpartition(f"/{kind}/")[0]
        raise CorruptionError(
            f"{place}: {fault}{why}. Move {store} away and run again: its stages will be computed again"
        )
    if manifest != manifest.sealed():
        raise CorruptionError(advice(place, "its manifest differs from what was written"))
    if (manifest.kind, manifest.key) != (kind, key):
        raise CorruptionError(advice(place, f"contains another stage, {manifest.kind}/{manifest.key}"))
    return manifest


def _checked(kind: str, key: str) -> tuple[str, str]:
    try:
        return relative_name(kind), checked_sha256(key)
    except ValueError as wrong:
        raise CorruptionError(f"the stage {kind!a}/{key!a}: {wrong}") from wrong


def _reason(error: ValueError) -> str:
    """Return the first mistake of a manifest, in one line."""
    if not isinstance(error, ValidationError):
        return type(error).__name__
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def advice(place: Path | str, fault: str) -> str:
    """Return the message about a damaged stage."""
    return f"{place}: {fault}. Move the folder away and run again: the stage will be computed again"
