"""What a stage's `compute` is given besides its declaration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from foundation.schema import JsonValue
from runners.stages.progress import ProgressFile


@dataclass(frozen=True)
class StageContext:
    """Where a stage reads, writes and tells how far it is."""

    inputs: Mapping[str, Path]
    """Folders of the stages it reads, verified."""
    folder: Path
    """Where it writes its files; what a killed run has left is still there."""
    progress: ProgressFile


class Diverged(Exception):
    """The loss was not finite: a result of the candidate, not a fault of the program. The stage ends with it."""

    def __init__(self, result: dict[str, JsonValue]) -> None:
        self.result = result
        super().__init__(f"diverged: {result}")
