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
import sys
import tempfile
from functools import cache
from pathlib import Path

from foundation.atomic_files import move_durably
from foundation.environment import instructions

SOURCES = tuple(Path(__file__).with_name(name) for name in ("operators.c", "operators.h"))
FLAGS = ("-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
SECONDS_TO_COMPILE = 60.0
SECONDS_TO_ASK = 10.0
LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"  # in a process of its own, which a damaged file may end


@cache
def arithmetic() -> str:
    """Return what computes the operators, as it stands in a stage's key: their rounding differs in the last bits."""
    compiler = shutil.which("cc")
    return "portable" if library() is None or compiler is None else f"native {_recipe(compiler)}"


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


@cache
def _recipe(compiler: str) -> str:
    """Return the digest of all that decides what is compiled, the machine aside: sources, flags, the compiler."""
    version = _said([compiler, "--version"], SECONDS_TO_ASK).partition(b"\n")[0]  # later lines may hold paths
    return _digest(version, " ".join(FLAGS).encode(), *(source.read_bytes() for source in SOURCES))


def _compiled(compiler: str) -> Path:
    """Return the compiled file, built anew where the one that was kept is not what was built.

    Its name ends in its own sha256: it is written, flushed and renamed, so that two builders do no harm, and a file
    that a crash has torn is known before it is loaded (loading half a library ends the process with SIGBUS).
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steeplechase"
    # a home may be shared by machines of different kinds
    machine = f"{platform.machine()} {platform.node()} {compiler} {instructions() or platform.processor()}"
    name = f"operators-{_digest(machine.encode(), _recipe(compiler).encode())}"
    for kept in sorted(folder.glob(f"{name}-*.so")):
        if kept.stem == f"{name}-{_digest(kept.read_bytes())}":
            return kept
        kept.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        built = Path(scratch) / "operators.so"
        _said([compiler, *FLAGS, str(SOURCES[0]), "-o", str(built), "-lm"], SECONDS_TO_COMPILE)
        _said([sys.executable, "-I", "-c", LOAD, str(built)], SECONDS_TO_COMPILE)
        return move_durably(built, folder / f"{name}-{_digest(built.read_bytes())}.so")


def _said(command: list[str], seconds: float) -> bytes:
    """Return what a command prints, in English. Raises OSError and subprocess.SubprocessError."""
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, check=True, capture_output=True, timeout=seconds, env=environment)
    return done.stdout


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
