"""Stage results in an object store, which has every finished stage; a machine has verified copies of what it reads.

A stage is finished when the store has its manifest, `stages/KIND/KEY.json`, which is written after all of its files;
these are named by their sha256, `files/HASH`. So a partial upload is never a finished stage, two machines that
compute one stage write the same or harmless further files, and what is read is verified by its name.
"""

import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import CorruptionError, MachineError
from steeplechase.foundation.locking import locked
from steeplechase.foundation.names import checked_sha256, inside, make_inside, relative_name
from steeplechase.foundation.scratch import scratch_folder
from steeplechase.ledger.artifacts import (
    MANIFEST,
    UNFINISHED,
    ArtifactStore,
    Outcome,
    StageManifest,
    advice,
    manifest_in,
    read_manifest,
    seal,
)
from steeplechase.ledger.object_store import ObjectStore

LOCKS, PARTS = "locks", "parts"
"""Folders beside those of the kinds: locks of the copies, and single files of stages that are not copied whole."""


class CopiedArtifacts(ArtifactStore):
    """Copies on this machine of the stages of an object store, which is not contacted."""

    def __init__(self, root: Path, url: str) -> None:
        super().__init__(root)
        self._url = url

    @property
    def whereabouts(self) -> str:
        """Where files that are not there may be, and how a command reads them."""
        return f"only the object store has them; if you trust it, add --store {shlex.quote(self._url)}"

    def file(self, kind: str, key: str, name: str) -> Path:
        """Return one file of a stage, of the copy of the stage or a copy of its own; it need not exist."""
        whole = super().file(kind, key, name)
        return whole if whole.is_file() else self._part(kind, key, name)

    def _part(self, kind: str, key: str, name: str) -> Path:
        return inside(self.root, f"{PARTS}/{kind}/{key}/{name}")


class ObjectArtifactStore(CopiedArtifacts):
    """Stage results of an object store, with copies under a root on this machine."""

    def __init__(self, root: Path, objects: ObjectStore) -> None:
        super().__init__(root, objects.url)
        self._objects = objects
        self._manifests: dict[tuple[str, str], StageManifest] = {}

    def may_have(self, kind: str) -> bool:
        """Return True: the object store is asked by key."""
        return True

    def has(self, kind: str, key: str) -> bool:
        """Return whether a stage is finished."""
        return (kind, key) in self._manifests or self._objects.has(_manifest_name(kind, key))

    def outcome(self, kind: str, key: str) -> Outcome | None:
        """Return a finished stage's outcome, None if it has not been computed. Raises CorruptionError."""
        manifest = self._manifest(kind, key)
        return None if manifest is None else manifest.outcome

    def read(self, kind: str, key: str) -> Path:
        """Return the folder of a finished stage on this machine, copied and verified.

        Raises CorruptionError if an object differs from what was written, MachineError if the stage is not there.
        """
        folder = self.folder(kind, key)
        if folder in self._verified:
            return folder
        if (manifest := self._manifest(kind, key)) is None:
            raise MachineError(f"{self._objects.url}/{_manifest_name(kind, key)}: missing; the stage is not finished")
        with self._placing(key):
            if not (folder.is_dir() and _is_copy(folder, manifest)):
                self._copy(manifest)
        self._verified.add(folder)
        return folder

    def file(self, kind: str, key: str, name: str) -> Path:
        """Return one file of a stage on this machine; it does not exist if the stage has none or is not finished."""
        copy = super().file(kind, key, name)
        manifest = self._manifest(kind, key)
        if manifest is None or name not in manifest.files:
            return copy
        if not copy.is_file() or sha256_of(copy) != manifest.files[name]:
            copy = self._part(kind, key, name)
            with self._scratch() as scratch:
                self._download(manifest, name, Path(scratch, "file"))
                make_inside(self.root, copy.parent.relative_to(self.root).as_posix())
                Path(scratch, "file").replace(copy)
        return copy

    def publish(
        self, kind: str, key: str, work: Path, outcome: Outcome, inputs: Mapping[str, str] | None = None
    ) -> Outcome:
        """Upload a stage's files, then its manifest, and move the work folder into place as this machine's copy.

        The returned outcome is that of another machine where it has published the stage meanwhile.
        """
        manifest = seal(kind, key, work, outcome, inputs)
        if self._manifest(kind, key) is None:
            for name, sha256 in manifest.files.items():
                self._objects.upload(work / name, _file_name(sha256))
            self._objects.write(_manifest_name(kind, key), (work / MANIFEST).read_bytes())
        with self._placing(key):
            self._move(kind, key, work)
        return (self._manifest(kind, key) or manifest).outcome

    def _manifest(self, kind: str, key: str) -> StageManifest | None:
        """Return the manifest of a finished stage; a manifest never changes."""
        if (kind, key) not in self._manifests:
            name = _manifest_name(kind, key)
            if (content := self._objects.read(name)) is None:
                return None
            self._manifests[kind, key] = manifest_in(content, f"{self._objects.url}/{name}", kind, key)
        return self._manifests[kind, key]

    def _copy(self, manifest: StageManifest) -> None:
        """Copy a stage to this machine, and put it in place of a damaged copy."""
        with self._scratch() as scratch:
            fresh = Path(scratch, manifest.key)
            fresh.mkdir()
            for name in manifest.files:
                file = inside(fresh, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                self._download(manifest, name, file)
            (fresh / MANIFEST).write_text(manifest.model_dump_json(), encoding="utf-8")
            target = self.folder(manifest.kind, manifest.key)
            if target.is_dir():
                target.rename(Path(scratch, "damaged"))
            self._move(manifest.kind, manifest.key, fresh)

    def _download(self, manifest: StageManifest, name: str, file: Path) -> None:
        expected = manifest.files[name]
        if not self._objects.download(_file_name(expected), file) or sha256_of(file) != expected:
            place = f"{self._objects.url}/{_manifest_name(manifest.kind, manifest.key)}"
            raise CorruptionError(advice(place, f"{name} ({_file_name(expected)}) differs from what was written"))

    def _placing(self, key: str) -> AbstractContextManager[int]:
        """Lock a stage's folder between the processes of this machine; the lock's file stays, so that it is one."""
        return locked(inside(make_inside(self.root, LOCKS), key), doing="copies the same stage")

    def _scratch(self) -> AbstractContextManager[Path]:
        return scratch_folder(make_inside(self.root, UNFINISHED), "copy-")


def artifact_store(root: Path, objects: str) -> ArtifactStore:
    """Return the store of stages: that of the URL with copies under the root, or the root itself without a URL."""
    return ObjectArtifactStore(root, ObjectStore(objects)) if objects else ArtifactStore(root)


def _is_copy(folder: Path, manifest: StageManifest) -> bool:
    try:
        own = read_manifest(folder, manifest.kind, manifest.key)
    except CorruptionError:
        return False
    return own.files == manifest.files and not manifest.differing_in(folder)


def _manifest_name(kind: str, key: str) -> str:
    return f"stages/{relative_name(kind)}/{checked_sha256(key)}.json"


def _file_name(sha256: str) -> str:
    return f"files/{checked_sha256(sha256)}"
