"""The context of a stage's `compute`, besides its declaration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from foundation.schema import JsonValue
from runners.stages.progress import ProgressFile


@dataclass(frozen=True)
class StageContext:
    """Input folders, output folder and progress of a stage."""

    inputs: Mapping[str, Path]
    """Verified folders of the input stages, by name."""
    folder: Path
    """Output folder; contains the files of a killed attempt."""
    progress: ProgressFile


class Diverged(Exception):
    """The loss was not finite: a result of the candidate, not an error of the program. It ends the stage."""

    def __init__(self, result: dict[str, JsonValue]) -> None:
        self.result = result
        super().__init__(f"diverged: {result}")
