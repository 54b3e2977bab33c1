"""How far a running stage is: a small file that its worker rewrites and the driver reads, under either engine."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from foundation.atomic_files import write_whole

SECONDS_BETWEEN_WRITES = 0.25


@dataclass(frozen=True)
class StageProgress:
    """What a stage is doing right now."""

    what: str
    share: float
    """Share done, 0 to 1."""
    loss: float | None = None
    """Training loss in nats, where there is one."""
    tokens_per_second: float | None = None


class ProgressFile:
    """Writes each phase once when it begins and then at most four times a second; never part of a result."""

    def __init__(self, path: Path) -> None:
        self._path, self._written, self._phase = path, 0.0, ""
        path.parent.mkdir(parents=True, exist_ok=True)

    def __call__(self, what: str, share: float, loss: float | None = None, speed: float | None = None) -> None:
        """Tell how far the stage is; cheap enough to call every step."""
        now, phase = time.monotonic(), what.partition(":")[0]
        if now - self._written < SECONDS_BETWEEN_WRITES and phase == self._phase:
            return
        self._written, self._phase = now, phase
        finite = loss if loss is not None and abs(loss) < float("inf") else None
        content = json.dumps(asdict(StageProgress(what, share, finite, speed)))
        write_whole(self._path, content.encode(), durable=False)


def read_progress(path: Path) -> StageProgress | None:
    """Return the last progress told, None where the stage has not started or has ended."""
    try:
        return StageProgress(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None
