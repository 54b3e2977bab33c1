"""What a stage's `compute` is given: where it reads and writes, and its progress."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from steeplechase.foundation.atomic_files import write_whole
from steeplechase.foundation.schema import JsonValue

SECONDS_BETWEEN_WRITES = 0.25


@dataclass(frozen=True)
class StageProgress:
    """Current progress of a stage."""

    what: str
    """Phase of the stage and, after a colon, its detail: `tokenizing: text 3 of 9`."""
    share: float
    """Completed share, 0 to 1."""
    loss: float | None = None
    """Training loss in nats; None if the stage does not train or the loss is not finite."""
    tokens_per_second: float | None = None
    peak_bytes: int | None = None
    """Of a GPU's memory; None of a processor."""


class ProgressFile:
    """Progress file, written at the start of each phase and at most four times a second; never part of a result."""

    def __init__(self, path: Path) -> None:
        self._path, self._written, self._phase = path, 0.0, ""
        path.parent.mkdir(parents=True, exist_ok=True)

    def __call__(
        self,
        what: str,
        share: float,
        loss: float | None = None,
        speed: float | None = None,
        peak_bytes: int | None = None,
    ) -> None:
        """Write the progress unless the last write was too recent; cheap enough to call after every update."""
        now, phase = time.monotonic(), what.partition(":")[0]
        if now - self._written < SECONDS_BETWEEN_WRITES and phase == self._phase:
            return
        self._written, self._phase = now, phase
        finite = loss if loss is not None and abs(loss) < float("inf") else None
        content = json.dumps(asdict(StageProgress(what, share, finite, speed, peak_bytes)))
        with suppress(IsADirectoryError):  # a folder in its place is no reason to fail the stage
            write_whole(self._path, content.encode(), durable=False)


def read_progress(path: Path) -> StageProgress | None:
    """Return the last progress; None if the stage has not started or has ended."""
    try:
        return StageProgress(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


@dataclass(frozen=True)
class StageContext:
    """Input folders, output folder and progress of a stage."""

    inputs: Mapping[str, Path]
    """Verified folders of the input stages, by name."""
    folder: Path
    """Output folder; after a killed run it contains that run's files."""
    progress: ProgressFile
    plugins: Sequence[tuple[str, str]] = ()
    """Folder and sha256 of the plugins that the stage uses, for its further processes."""


class Diverged(Exception):
    """Training diverged: a result of the candidate, not an error of the program. `result` is the stage's result."""

    def __init__(self, result: dict[str, JsonValue]) -> None:
        self.result = result
        super().__init__(f"diverged: {result}")
