"""Results folders at three moments of one run, as a kill leaves them: early, late and finished."""

import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runners.stages import pretrain
from tools.faults.layer import failing, plan
from tools.faults.runs import LONGEST_SECONDS, Reference, reference, run
from tools.faults.warm import emptied, orphans

EARLY, LATE, FINISHED = "early", "late", "finished"
SHARES = {EARLY: 0.45, LATE: 0.85}
"""The share of a run's durable calls after which it is killed."""


@dataclass(frozen=True)
class Images:
    """The folders of an experiment by moment, and what its undisturbed run gives."""

    expected: Reference
    by_moment: dict[str, Path]

    def copy(self, moment: str, folder: Path) -> Path:
        """Copy an image to a folder, in place of what is there."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.by_moment[moment], folder, symlinks=True)
        return folder


@cache
def images(scratch: Path, name: str) -> Images:
    """Run an experiment to its end with checkpoints every tenth of a second, and twice to a kill."""
    expected, place = reference(scratch, name, mirrored=True), emptied(scratch / f"images-{name}")
    with failing(str(place), 0) as calls:
        run(scratch, expected.file, place / FINISHED, 1, before=_checkpoint_often).wait(LONGEST_SECONDS)
        whole = calls.calls
    for moment, share in SHARES.items():
        with failing(str(place), int(whole * share), group=1):
            run(scratch, expected.file, place / moment, 1, before=_die_together).wait(LONGEST_SECONDS)
        orphans(LONGEST_SECONDS)
    return Images(expected, {FINISHED: expected.folder, **{moment: place / moment for moment in SHARES}})


def _checkpoint_often() -> None:
    setattr(pretrain, "SECONDS_BETWEEN_CHECKPOINTS", 0.1)  # noqa: B010 — stages of a second have none otherwise


def _die_together() -> None:
    _checkpoint_often()
    plan().group = os.getpid()
