"""Growth of one long run: memory, handles and threads of driver and worker by stage, and files beside the stages."""

import random
import time
from pathlib import Path

import numpy as np
import yaml

from tools.faults.row import Attempt
from tools.faults.runs import EXPERIMENTS, run, wrong_end
from tools.faults.warm import emptied, orphans

STAGES = 1000
MOST_MEGABYTES_A_STAGE = 0.05
LONGEST_SECONDS = 7200.0
PAGE_MEGABYTES = 4096 / 1e6


def attempt(chance: random.Random, scratch: Path) -> Attempt:
    """Train a thousand models of many widths in one worker, with kills of nothing; judge the slopes."""
    place, found = emptied(scratch / "soak"), Attempt()
    arms = {f"w{number}": {"feed_forward_width": 32 + number} for number in range(STAGES // 2)}
    pretraining = {"tokens": 1024, "seeds": [1, 2], "held_out_sequences": 8, "evaluations": 1}
    document = yaml.safe_load(EXPERIMENTS["table"].read_text()) | {"experiment": "soak", "pretraining": pretraining}
    document |= {"design": {"kind": "list", "arms": arms}, "fine_tuning": {}}
    (place / "soak.yaml").write_text(yaml.safe_dump(document))
    command = run(scratch, place / "soak.yaml", place / "soak", 1)
    samples: list[list[float]] = []
    until = time.monotonic() + LONGEST_SECONDS
    while command.is_running and time.monotonic() < until:
        time.sleep(0.5)
        workers, stages = command.children, len([*(place / "soak" / "stages" / "pretrain").glob("*")])
        if workers and (not samples or stages > samples[-1][0]):
            samples.append([stages, *_size(workers[0]), *_size(command.pid)])
    found.wrong += wrong_end(command, command.wait(60), (0,)) + orphans(10)
    late = np.array([sample for sample in samples if sample[0] > samples[-1][0] / 5])
    slopes = np.polyfit(late[:, 0], late[:, 1:], 1)[0]
    names = [f"{what} of the {who} a stage" for who in ("worker", "driver") for what in ("MB", "handles", "threads")]
    found.caused["stages"] += int(samples[-1][0])
    limits = (MOST_MEGABYTES_A_STAGE, 0.001, 0.001) * 2
    rising = zip(names, slopes, limits, strict=True)
    found.wrong += [f"{name}: {slope:+.4f}" for name, slope, limit in rising if slope > limit]
    return found


def _size(pid: int) -> tuple[float, int, int]:
    """Return a process's resident megabytes, handles and threads; zeros where it has just ended."""
    place = Path(f"/proc/{pid}")
    try:
        pages = int((place / "statm").read_text().split()[1])
        return pages * PAGE_MEGABYTES, len([*(place / "fd").iterdir()]), len([*(place / "task").iterdir()])
    except OSError:
        return 0.0, 0, 0
