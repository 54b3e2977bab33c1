"""The environment of a run: interpreter, libraries, processor. Stored with results, never part of a key."""

import gc
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from steeplechase.foundation.devices import NONE, accelerator
from steeplechase.foundation.schema import JsonValue

LIBRARIES = ("steeplechase", "torch", "numpy", "tokenizers", "scikit-learn", "optuna", "ray", "mlflow")

GPU_DEVICES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg", "/dev/kfd")
"""Device files of GPUs on Linux: NVIDIA's drivers, those of its Tegra systems, of Windows' subsystem, and of AMD."""


def manifest() -> dict[str, JsonValue]:
    """Return versions and the machine."""
    libraries: dict[str, JsonValue] = {name: version(name) for name in LIBRARIES}
    found = accelerator()
    gpu: dict[str, JsonValue] = {"gpu": {**found}} if found["card"] != NONE else {}
    return {"python": platform.python_version(), **machine(), **gpu, "libraries": libraries}


def machine() -> dict[str, JsonValue]:
    """Return the system, the processor's name and the cores that this process may use."""
    return {"system": f"{platform.system()} {platform.machine()}", "processor": processor(), "cores": _cores()}


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # not available on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int | None:
    """Return the machine's physical memory in bytes; None if the system does not say it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not available on every system
        return None


def gpu_missing() -> str | None:
    """Return why PyTorch has no GPU here, without importing it or opening one; None if nothing says so."""
    build = version("torch").partition("+")[2]
    if build == "cpu":
        return "the installed PyTorch is built for CPUs alone"
    if not build.startswith("rocm") and os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1"):
        return "CUDA_VISIBLE_DEVICES hides every GPU"
    if platform.system() == "Linux" and not any(Path(each).exists() for each in GPU_DEVICES):
        return "the system has no GPU device"
    return None


def cache_folder() -> Path:
    """Return this project's folder below the user's cache folder, where generated code is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steeplechase"


def processor() -> str:
    """Return the processor's name, as reported by the system."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def instructions() -> str:
    """Return the line of instruction sets of the first core; empty if the system has no such list."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


@contextmanager
def garbage_uncollected() -> Iterator[None]:
    """Pause garbage collection, which takes a fifth of the time of imports: they make many objects and no garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
