"""The compiled operators: built once per machine with its C compiler and cached; optional.

Torch-free, because the choice of operators is part of a stage's key, and keys are computed before anything runs.
`STEEPLECHASE_NATIVE=0` disables them.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from steeplechase.foundation.atomic_files import move_durably
from steeplechase.foundation.environment import cache_folder, instructions
from steeplechase.foundation.scratch import TEMPORARY

SOURCES = tuple(Path(__file__).with_name(name) for name in ("operators.c", "operators.h"))
FLAGS = ("-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
COMPILE_SECONDS = 60.0
VERSION_SECONDS = 10.0
LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"  # a separate process, which a damaged file may kill


@cache
def arithmetic() -> str:
    """Return the implementation of the operators, for stage keys, because implementations round differently."""
    compiler = shutil.which("cc")
    return "portable" if library() is None or compiler is None else f"native {_recipe(compiler)}"


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled operators, None if unavailable; never raises or prints."""
    compiler = shutil.which("cc")
    if os.environ.get("STEEPLECHASE_NATIVE") == "0" or compiler is None:
        return None
    folder = cache_folder()
    with suppress(OSError, subprocess.SubprocessError):
        try:
            return _loaded(compiler, folder)
        except OSError:  # no folder for it: built for this process, since keys must not depend on a folder
            with tempfile.TemporaryDirectory(prefix=TEMPORARY) as scratch:
                return _loaded(compiler, Path(scratch))
    return None


def _loaded(compiler: str, folder: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(_compiled(compiler, folder)))


@cache
def _recipe(compiler: str) -> str:
    """Return the digest of the compilation, without the machine: sources, flags, compiler version."""
    version = _output_of([compiler, "--version"], VERSION_SECONDS).partition(b"\n")[0]  # later lines may hold paths
    return _digest(version, " ".join(FLAGS).encode(), *(source.read_bytes() for source in SOURCES))


def _compiled(compiler: str, folder: Path) -> Path:
    """Return the path of the compiled library in a folder; rebuild it if the cached file is missing or damaged.

    The name ends in the sha256 of the content, and the file is fsynced and renamed into place: concurrent builds are
    safe, and a truncated file is detected before loading (which would kill the process with SIGBUS).
    """
    # machines of different types may share a home directory
    machine = f"{platform.machine()} {platform.node()} {compiler} {instructions() or platform.processor()}"
    name = f"operators-{_digest(machine.encode(), _recipe(compiler).encode())}"
    for cached in sorted(folder.glob(f"{name}-*.so")):
        if cached.stem == f"{name}-{_digest(cached.read_bytes())}":
            return cached
        cached.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        built = Path(scratch) / "operators.so"
        _output_of([compiler, *FLAGS, str(SOURCES[0]), "-o", str(built), "-lm"], COMPILE_SECONDS)
        _output_of([sys.executable, "-I", "-c", LOAD, str(built)], COMPILE_SECONDS)
        return move_durably(built, folder / f"{name}-{_digest(built.read_bytes())}.so")


def _output_of(command: list[str], seconds: float) -> bytes:
    """Return the output of a command in the C locale. Raises OSError and subprocess.SubprocessError."""
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, check=True, capture_output=True, timeout=seconds, env=environment)
    return done.stdout


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
