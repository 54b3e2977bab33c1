"""The fault layer's plan: which durable call of the processes of a run fails, and how. `layer.c` reads it."""

import ctypes
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLAN = "FAULT_LAYER_PLAN"
"""Environment variable with the file that all processes of the harness map; its folder is the harness's own."""
SCRATCH = Path(os.environ.get(PLAN, "plan")).parent
KILL = 0
"""In place of an errno: the caller is killed."""
ALL = 2**31 - 1


class Plan(ctypes.Structure):
    """`struct plan` of layer.c."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("armed", "calls", "first", "last", "error", "group", "fired")),
        ("path", ctypes.c_char * 256),
    )


def start_under_layer(arguments: list[str]) -> None:
    """Replace this process by one in which the layer is loaded, with a folder in memory; return where it is."""
    if PLAN in os.environ:
        return
    scratch = Path(tempfile.mkdtemp(prefix="faults-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    plan, library, source = scratch / "plan", scratch / "layer.so", Path(__file__).with_name("layer.c")
    plan.write_bytes(bytes(ctypes.sizeof(Plan)))
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    variables = {PLAN: str(plan), "LD_PRELOAD": str(library), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    os.execve(sys.executable, [sys.executable, "-m", "tools.faults", *arguments], {**os.environ, **variables})


def plan() -> Plan:
    """Return the plan that this process shares with its forks."""
    with Path(os.environ[PLAN]).open("r+b") as file:
        return Plan.from_buffer(mmap.mmap(file.fileno(), 0))


@contextmanager
def failing(path: str, first: int, calls: int = 1, error: int = KILL) -> Iterator[Plan]:
    """Let the durable calls from the first one fail on paths that contain a text; yield the plan, which counts."""
    shared = plan()
    shared.armed = shared.calls = shared.fired = shared.group = 0
    shared.first, shared.last, shared.error = first, min(ALL, first + calls - 1), error
    shared.path, shared.armed = path.encode(), 1
    try:
        yield shared
    finally:
        shared.armed = 0


def lead_group() -> None:
    """Let a kill of the plan take this process, and what it starts in its session, along."""
    plan().group = os.getpid()
