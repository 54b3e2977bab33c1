"""Growth of one long run: memory, handles and threads of driver and worker by stage."""

import random
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import yaml

from tools.faults.layer import SCRATCH
from tools.faults.rows import ROWS, Attempt
from tools.faults.runs import EXPERIMENTS, run, wrong_end
from tools.faults.warm import children, emptied, kill, orphans

LONGEST_SECONDS = 300.0
LIMITS = {"MB": 0.05, "handles": 0.001, "threads": 0.001}
"""The most that each may grow by in a stage."""


def soak(chance: random.Random, found: Attempt) -> None:
    """Train models of many widths in one worker for five minutes; judge the slopes over the stages reached."""
    folder, samples = emptied(SCRATCH / "soak") / "soak", list[list[float]]()
    arms = {f"w{number}": {"feed_forward_width": 32 + number} for number in range(1, ROWS["soak"].reach // 2)}
    pretraining = {"tokens": 1024, "seeds": [1, 2], "held_out_sequences": 8, "evaluations": 1}
    changes = {"pretraining": pretraining, "design": {"kind": "list", "arms": arms}, "fine_tuning": {}}
    EXPERIMENTS["soak"] = SCRATCH / "soak" / "soak.yaml"
    EXPERIMENTS["soak"].write_text(yaml.safe_dump(yaml.safe_load(EXPERIMENTS["table"].read_text()) | changes))
    command, end = run(folder), time.monotonic() + LONGEST_SECONDS
    del EXPERIMENTS["soak"]
    while command.poll() is None and time.monotonic() < end:
        time.sleep(0.5)
        stages = len([*(folder / "stages" / "pretrain").glob("*")])
        if (workers := children(command.pid)) and (not samples or stages > samples[-1][0]):
            with suppress(OSError):
                samples.append([stages, *_size(workers[0]), *_size(command.pid)])
    kill(command.pid)
    found.wrong += wrong_end(command, 0, -9) + orphans()
    if not samples:
        return
    found.caused["stages"] += int(samples[-1][0])
    late = np.array(samples[len(samples) // 5 :])
    names = [(who, what) for who in ("worker", "driver") for what in LIMITS]
    for (who, what), slope in zip(names, np.polyfit(late[:, 0], late[:, 1:], 1)[0], strict=True):
        found.wrong += [f"{what} of the {who} a stage: {slope:+.4f}"] * bool(slope > LIMITS[what])


def _size(pid: int) -> tuple[float, int, int]:
    """Return a process's resident megabytes, handles and threads."""
    place = Path(f"/proc/{pid}")
    megabytes = int((place / "statm").read_text().split()[1]) * 4096 / 1e6
    return megabytes, len([*(place / "fd").iterdir()]), len([*(place / "task").iterdir()])
