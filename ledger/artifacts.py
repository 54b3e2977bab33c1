"""The stage store: a folder per finished stage, named by its key, verified when read, never half-written.

A stage is computed in a folder of its own under `unfinished/`, its files are flushed to the disk, a manifest
with the sha256 of every file is added, and the folder is renamed into place: it is there whole or not at all.
The manifest names the stage, so that a sound folder under another stage's name is refused.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from foundation.atomic_files import (
    disk_refusals,
    flush,
    move_durably,
    open_lock,
    read_regular,
    sha256_of,
    write_whole,
)
from foundation.errors import CorruptionError
from foundation.schema import JsonValue, Schema, fingerprint
from ledger.records import Status

MANIFEST = "manifest.json"
UNFINISHED = "unfinished"
PROGRESS = "progress"
MANIFEST_VERSION = 2
"""Version 1 did not name the stage: nothing says whose result such a folder holds, so it is refused."""


@dataclass(frozen=True)
class Outcome:
    """How a stage ended, what it found, and how long it took."""

    status: Status
    result: Mapping[str, JsonValue]
    seconds: float
    """Of the stage's work alone: no imports, no start of a worker, no check of what it reads."""
    warm_up_seconds: float | None = None
    """What its process had spent in all on getting ready for stages when this one began.

    None where `seconds` are not those of the whole work alone: the stage was carried on after a kill, or a former
    version counted the start of the process too.
    """


class ArtifactStore:
    """Results of stages by kind and key, shared by every experiment under one results folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._verified: set[Path] = set()

    def folder(self, kind: str, key: str) -> Path:
        """Return where a finished stage lies."""
        return self.root / kind / key

    def progress_file(self, key: str) -> Path:
        """Return where a running stage tells how far it is."""
        return self.root / PROGRESS / f"{key}.json"

    def outcome(self, kind: str, key: str) -> Outcome | None:
        """Return a finished stage's outcome, None where it has not been computed. Raises CorruptionError."""
        folder = self.folder(kind, key)
        if not folder.is_dir():
            return None
        manifest = _read_manifest(folder, kind, key)
        return Outcome(Status(manifest.status), manifest.result, manifest.seconds, manifest.warm_up_seconds)

    def read(self, kind: str, key: str) -> Path:
        """Return the folder of a finished stage, every file checked against its hash. Raises CorruptionError."""
        folder = self.folder(kind, key)
        if folder not in self._verified:
            for name, expected in _read_manifest(folder, kind, key).files.items():
                if not (folder / name).is_file() or sha256_of(folder / name) != expected:
                    raise CorruptionError(_advice(folder, f"{name} is not what was written"))
            self._verified.add(folder)
        return folder

    @contextmanager
    def computing(self, key: str) -> Iterator[Path]:
        """Hold a stage for one process at a time and give its work folder, which keeps what a killed run left.

        Raises MachineError where the stage's lock cannot be opened as a file.
        """
        unfinished = self.root / UNFINISHED
        with disk_refusals(unfinished):
            unfinished.mkdir(parents=True, exist_ok=True)
            descriptor = open_lock(unfinished / f"{key}.lock")
        with os.fdopen(descriptor, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            folder = unfinished / key
            folder.mkdir(exist_ok=True)
            try:
                yield folder
            finally:
                self.progress_file(key).unlink(missing_ok=True)
        (unfinished / f"{key}.lock").unlink(missing_ok=True)

    def publish(
        self, kind: str, key: str, work: Path, outcome: Outcome, inputs: Mapping[str, str] | None = None
    ) -> None:
        """Move a stage's work folder into place; on return it is on disk. `inputs` are the keys of what it read."""
        files = sorted(path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file())
        hashes = {name: sha256_of(work / name) for name in files if name != MANIFEST}
        manifest = _Manifest(
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
        write_whole(work / MANIFEST, manifest.sealed().model_dump_json().encode())
        target = self.folder(kind, key)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            shutil.rmtree(work)
            return
        move_durably(work, target)
        flush(self.root)


class _Manifest(Schema):
    version: int = 1
    kind: str = ""
    key: str = ""
    inputs: dict[str, str] = Field(default_factory=dict)
    """Keys of the stages that were read, by the name under which they were."""
    status: str
    result: dict[str, JsonValue]
    seconds: float
    warm_up_seconds: float | None = None
    files: dict[str, str]
    """sha256 by name."""
    seal: str = ""
    """Fingerprint of all the rest."""

    def sealed(self) -> "_Manifest":
        return self.model_copy(update={"seal": fingerprint(self.model_dump(exclude={"seal"}))})


def _read_manifest(folder: Path, kind: str, key: str) -> _Manifest:
    """Return the manifest of a stage. Raises CorruptionError where it is damaged, or another stage's."""
    try:
        manifest = _Manifest.model_validate_json(read_regular(folder / MANIFEST))
    except (OSError, ValueError) as error:
        raise CorruptionError(_advice(folder, f"its manifest cannot be read ({type(error).__name__})")) from error
    if manifest.version != MANIFEST_VERSION:
        fault = f"its manifest has version {manifest.version}, this version reads {MANIFEST_VERSION}"
        why = "; version 1 does not name the stage that the folder holds" if manifest.version == 1 else ""
        store = folder.parent.parent
        raise CorruptionError(
            f"{folder}: {fault}{why}. Move {store} away and run again: its stages will be computed anew"
        )
    if manifest != manifest.sealed():
        raise CorruptionError(_advice(folder, "its manifest is not what was written"))
    if (manifest.kind, manifest.key) != (kind, key):
        raise CorruptionError(_advice(folder, f"holds another stage, {manifest.kind}/{manifest.key}"))
    return manifest


def _advice(folder: Path, fault: str) -> str:
    return f"{folder}: {fault}. Move the folder away and run again: the stage will be computed anew"
