"""The compiled operators: built once per machine with its own C compiler, kept, and done without where there is none.

Torch-free, because which operators compute a stage is part of the stage's key, and keys are known before anything
runs. `STEEPLECHASE_NATIVE=0` does without them.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from models.processor import instructions

SOURCES = tuple(Path(__file__).with_name(name) for name in ("operators.c", "operators.h"))
FLAGS = ("-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
SECONDS_TO_COMPILE = 60.0


@cache
def arithmetic() -> str:
    """Return what computes the operators, as it stands in a stage's key: their rounding differs in the last bits."""
    return "portable" if library() is None else f"native {_digest(*(source.read_bytes() for source in SOURCES))}"


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled operators, None where they cannot be had; nothing is raised and nothing printed."""
    compiler = shutil.which("cc")
    if os.environ.get("STEEPLECHASE_NATIVE") == "0" or compiler is None:
        return None
    try:
        return ctypes.CDLL(str(_compiled(compiler)))
    except (OSError, subprocess.SubprocessError):
        return None


def _compiled(compiler: str) -> Path:
    """Return the compiled file. It appears under its name whole or not at all, so that two builders do no harm."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steeplechase"
    # a home may be shared by machines of different kinds
    machine = f"{platform.machine()} {platform.node()} {compiler} {FLAGS} {instructions() or platform.processor()}"
    kept = folder / f"operators-{_digest(machine.encode(), *(source.read_bytes() for source in SOURCES))}.so"
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            built = Path(scratch) / "operators.so"
            command = [compiler, *FLAGS, str(SOURCES[0]), "-o", str(built), "-lm"]
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS_TO_COMPILE)
            built.replace(kept)
    return kept


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
