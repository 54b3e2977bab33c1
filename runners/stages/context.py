"""The second argument of a stage's `compute`: where it reads and writes, and its progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.stages.progress import ProgressFile
from steeplechase.foundation.schema import JsonValue


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
