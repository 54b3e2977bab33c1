"""Paths of results: one folder per experiment and scale, and the stores that experiments under `results/` share."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from foundation.atomic_files import make_folder, open_lock
from foundation.errors import ConflictError, MachineError
from ledger.artifacts import MANIFEST, UNFINISHED

RESULTS = "results"
LOCK = "lock"


@dataclass(frozen=True)
class ResultPaths:
    """`folder` has one experiment's ledger and report; `root` has the artifact store and the MLflow store.

    Experiments under `results/` share one root. A folder elsewhere is its own root.
    """

    folder: Path
    root: Path

    @classmethod
    def of(cls, folder: Path) -> "ResultPaths":
        """Return the paths of a results folder. Raises MachineError if the path has a loop of symbolic links."""
        shared = Path(RESULTS)
        try:
            inside = shared.resolve() in folder.resolve().parents
        except (OSError, RuntimeError) as error:  # before Python 3.13 a loop is a RuntimeError
            raise MachineError(f"{folder}: cannot be resolved, a loop of symbolic links") from error
        return cls(folder, shared if inside else folder)

    @classmethod
    def default(cls, experiment: str, scale: str) -> "ResultPaths":
        """Return the default paths of an experiment."""
        return cls.of(Path(RESULTS) / f"{experiment}-{scale}")

    @property
    def stages(self) -> Path:
        """The artifact store."""
        return self.root / "stages"

    def make(self) -> None:
        """Create the folders. Raises MachineError if that fails."""
        make_folder(self.folder)
        make_folder(self.stages)

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

        Raises ConflictError if another run has the lock, MachineError if the lock file cannot be opened.
        """
        try:
            descriptor = open_lock(self.folder / LOCK)
        except OSError as error:
            raise MachineError(f"{self.folder / LOCK}: {error.strerror}") from error
        with os.fdopen(descriptor, "r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                message = f"{self.folder}: process {holder} is running this experiment; wait for it or end it first"
                raise ConflictError(message) from None
            lock.truncate(0)
            lock.seek(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield
