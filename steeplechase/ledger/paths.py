"""Paths of results: a folder per experiment and scale, the stores that several share, and the files of stages."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from steeplechase.foundation.atomic_files import disk_refusals, make_folder, read_regular, write_whole
from steeplechase.foundation.errors import ConflictError, CorruptionError, MachineError, first_lines
from steeplechase.foundation.locking import open_lock, try_lock
from steeplechase.foundation.names import inside, make_inside
from steeplechase.ledger.artifacts import MANIFEST, UNFINISHED, ArtifactStore
from steeplechase.ledger.object_artifacts import CopiedArtifacts, artifact_store
from steeplechase.ledger.object_store import ObjectStore, mistake_of_url, refuse_url

RESULTS = "results"
LOCK = "lock"
STAGES = "stages"
ROOT_LINK = "stage_store"
"""File with the way from a results folder up to the folder that has its stages, such as `..`."""
OBJECTS = "object_store"
"""File with the URL of the object store that has the stages."""
LONGEST_URL = 4096
EXPORT_FOLDER = "ledger"
"""The folder of a ledger's rows in a published report."""
CHECKSUM_FILE = "export.json"
"""The format version and the sha256 of every file of an export, by name."""
HELD_OUT_LOSSES = "held_out_losses.npy"
"""The file that keeps the loss of every held-out prediction at the end of a stage of pretraining."""
CHECKPOINT = "checkpoint"
"""The folder in which stages keep the weights of a model."""
RARE_WORDS = "rare_words.json"
"""The file in which the examples of a rarified task keep their rare words, in the order of their tokens."""
SOURCE_TOKENIZER = "source_tokenizer"
"""The folder in which encoded examples keep the tokenizer of their sources, where targets have another."""


def no_ledger(folder: Path, ledger: str) -> str:
    """Return why a place has no file of a ledger: a file, the folder of several results, or one without results.

    The results of an experiment with the folder's name are suggested too, beside it and in `results/`.
    """
    if folder.is_file():
        beside = f". Did you mean {folder.parent}?" if (folder.parent / ledger).is_file() else ""
        return f"a file; give a results folder{beside}"
    near = (each.parent for place in (folder.parent, Path(RESULTS)) for each in place.glob(f"*/{ledger}"))
    named = {str(each) for each in near if f"{each.name}-".startswith(f"{folder.name}-")}
    found = sorted({str(each.parent) for each in folder.glob(f"*/{ledger}")} | named)
    if found:
        return f"no ledger here. Did you mean {' or '.join(first_lines(found, lambda more: f'one of {more} more'))}?"
    return f"no ledger here; `steeplechase run EXPERIMENT --out {folder}` makes one"


def has_export(folder: Path) -> bool:
    """Return whether a folder contains the export of a ledger."""
    return (folder / EXPORT_FOLDER / CHECKSUM_FILE).is_file()


@dataclass(frozen=True)
class ResultPaths:
    """`folder` has one experiment's ledger and report; `root` has the artifact store and the MLflow store.

    Experiments under `results/` share one root, from whichever folder they are read and also if `results` is renamed.
    A folder elsewhere, or with stages inside, is its own root.
    """

    folder: Path
    root: Path

    @classmethod
    def of(cls, folder: Path) -> "ResultPaths":
        """Return the paths of a results folder. Raises MachineError if the path has a loop of symbolic links."""
        shared = Path(RESULTS)
        try:
            resolved = folder.resolve()
            inside = shared.resolve() in resolved.parents
        except (OSError, RuntimeError) as error:  # before Python 3.13 a loop is a RuntimeError
            raise MachineError(f"{folder}: cannot be resolved, a loop of symbolic links") from error
        if _has_stages(resolved):
            return cls(folder, folder)
        if inside:
            return cls(folder, shared)
        return cls(folder, _root_above(resolved) or folder)

    @classmethod
    def default(cls, experiment: str, scale: str) -> "ResultPaths":
        """Return the default paths of an experiment."""
        return cls.of(Path(RESULTS) / f"{experiment}-{scale}")

    @property
    def stages(self) -> Path:
        """The artifact store; with an object store, this machine's copies."""
        return self.root / STAGES

    @property
    def objects(self) -> str:
        """The recorded URL of the object store that has the stages; empty without one.

        A folder may be a stranger's: the URL is never contacted because it is recorded. Raises CorruptionError if it
        is no URL of an object store.
        """
        path = self.folder / OBJECTS
        try:
            url = read_regular(path, LONGEST_URL).decode().strip()
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except (OSError, ValueError) as error:
            raise CorruptionError(f"{path}: cannot be read ({type(error).__name__})") from error
        if url and (mistake := mistake_of_url(url)):
            raise CorruptionError(f"{path}: {mistake}")
        return url

    def store(self, objects: str = "") -> ArtifactStore:
        """Return the store of finished stages; `objects` is the URL of an object store that the command was given.

        Without it the copies on this machine are the store, and nothing is contacted. Raises ConflictError if the
        stages are in another object store, MachineError if it cannot be opened.
        """
        recorded = self.objects
        if not objects:
            return CopiedArtifacts(self.stages, recorded) if recorded else ArtifactStore(self.stages)
        refuse_url(objects)
        if recorded not in ("", objects.rstrip("/")):
            raise ConflictError(f"{self.folder}: its stages are in {recorded}, not in {objects}")
        return artifact_store(self.stages, objects.rstrip("/"))

    def not_asked(self, objects: str) -> tuple[str, ...]:
        """Return a warning if the stages are in an object store and a command was not given its URL."""
        if objects or not (recorded := self.objects):
            return ()
        counted = "only the copies on this machine count as cached"
        return (f"{self.folder}: its stages are in {recorded}; {counted}; with --store {recorded} it is asked",)

    def use_objects(self, url: str, begun: bool) -> None:
        """Check the object store and record its URL; empty: none. `begun` if there is a ledger.

        Raises ConflictError if the results are in another place, MachineError if the store cannot be used; nothing is
        recorded then. The caller has the lock, since a run reads the record more than once.
        """
        recorded, wanted = self.objects, url.rstrip("/")
        if recorded and not wanted:
            again = f"--store {shlex.quote(recorded)}"
            raise ConflictError(f"{self.folder}: its stages are in an object store; run it again with {again}")
        if begun and wanted != recorded:
            place = recorded or f"{self.stages}, without --store"
            raise ConflictError(f"{self.folder}: its stages are in {place}. Did you mean another --out folder?")
        if wanted:
            ObjectStore(wanted).check()
        if wanted != recorded:
            write_whole(self.folder / OBJECTS, f"{wanted}\n".encode())

    def make(self) -> None:
        """Create the folders, and record where the stages are.

        Raises MachineError if that fails, or a part of them is a symbolic link.
        """
        make_folder(self.folder)
        make_folder(make_inside(self.root, STAGES))
        for companion in self.folder.glob("*.sqlite-*"):  # which SQLite would write through a link
            inside(self.folder, companion.name)
        way = os.path.relpath(self.root.resolve(), self.folder.resolve())
        if way != os.curdir and not (self.folder / ROOT_LINK).exists():
            with disk_refusals(self.folder):
                write_whole(inside(self.folder, ROOT_LINK), f"{way}\n".encode())

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Files of earlier runs in the folder other than the ledger: reports, and finished stages if it is a root."""
        patterns = ["report.*", "figures", "tables"]
        if self.root == self.folder:
            patterns.append(f"{self.stages.name}/*/*/{MANIFEST}")
        files = (path for pattern in patterns for path in sorted(self.folder.glob(pattern)))
        return tuple(path.relative_to(self.folder).as_posix() for path in files if UNFINISHED not in path.parts)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for this process.

        Raises ConflictError if another run has the lock, MachineError if the lock file cannot be opened or locked.
        """
        try:
            descriptor = open_lock(self.folder / LOCK)
        except OSError as error:
            raise MachineError(f"{self.folder / LOCK}: {error.strerror}") from error
        with os.fdopen(descriptor, "r+") as lock:
            if not try_lock(descriptor, self.folder / LOCK):
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                message = f"{self.folder}: process {holder} is running this experiment; wait for it or end it first"
                raise ConflictError(message)
            lock.truncate(0)
            lock.seek(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield


def _has_stages(folder: Path) -> bool:
    try:
        return (folder / STAGES).is_dir()
    except OSError:  # a folder that may not be entered is refused by what reads it
        return False


def _root_above(folder: Path) -> Path | None:
    """Return the folder above that has the stages of a folder: the recorded one, else one of the name `results`."""
    try:
        way = read_regular(folder / ROOT_LINK).decode().strip()
    except (OSError, ValueError):  # results of an earlier version have no such file
        way = ""
    recorded = folder.joinpath(way).resolve() if way and set(way.split("/")) == {os.pardir} else None
    named = (each for each in folder.parents if each.name == RESULTS)
    return next((each for each in (recorded, *named) if each is not None and _has_stages(each)), None)


def predictions_file(part: str) -> str:
    """Return the name of the file that keeps what was predicted for a part."""
    return "predictions.json" if part == "dev" else f"predictions.{part}.json"


def example_scores_file(part: str) -> str:
    """Return the name of the file that keeps the score of every example of a part."""
    return "example_scores.npy" if part == "dev" else f"example_scores.{part}.npy"


def scores_name(part: str) -> str:
    """Return the key under which a record keeps a part's scores."""
    return "scores" if part == "dev" else f"scores {part}"


def layers_file(part: str) -> str:
    """Return the name of the file that keeps what a linear probe of each layer predicted for a part."""
    return predictions_file(part).replace("predictions", "layers", 1)


def other_parts(folder: Path) -> tuple[str, ...]:
    """Return the parts of encoded examples beside train and dev, sorted."""
    others = ("train", "dev", SOURCE_TOKENIZER)
    parts = (path.name for path in folder.iterdir() if path.is_dir())
    return tuple(sorted(part for part in parts if part not in others))
