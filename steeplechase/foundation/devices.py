"""The devices that a model is computed on, and what is known of this machine's without importing torch.

Another vendor is torch's name for its device here, with what its results depend on in `accelerator`. AMD's GPUs are
`cuda` to torch's builds for ROCm.
"""

import os
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

Device = Literal["cpu", "cuda"]
"""Processors, and GPUs of NVIDIA or AMD."""
PROCESSOR = "cpu"

Precision = Literal["float32", "tensorfloat32", "bfloat16"]
"""Of matrix products, and with bfloat16 of what lies between them."""

CARD = "STEEPLECHASE_CARD"
"""Variable that names the card of the machines that compute, for a driver without one: the head of a cluster."""
SHARE = "STEEPLECHASE_GPU_SHARE"
"""Variable of a worker: the most of a card's memory that it takes."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
DRIVER_FILES = Path("/proc/driver/nvidia/gpus")
NONE, SECONDS_TO_ASK = "none", 10.0


def is_gpu(device: str) -> bool:
    """Return whether a device computes beside its host and has memory of its own."""
    return device != PROCESSOR


@cache
def card() -> str:
    """Return the name of this machine's first GPU, or the one that the environment names; "none" if there is none."""
    if named := os.environ.get(CARD, "").strip():
        return named
    for file in sorted(DRIVER_FILES.glob("*/information")):
        if found := re.search(r"^Model:\s*(.+?)\s*$", file.read_text(errors="replace"), re.MULTILINE):
            return found[1]
    return _told_by_driver("name") or NONE


@cache
def memory_of_driver() -> int | None:
    """Return the bytes of this machine's first GPU as its driver says; None if it does not."""
    told = _told_by_driver("memory.total")
    return int(told) * 2**20 if told.isdecimal() else None


@cache
def compute_capability() -> float | None:
    """Return the compute capability of this machine's first GPU as its driver says; None if it does not."""
    told = _told_by_driver("compute_cap")
    return float(told) if re.fullmatch(r"\d+\.\d+", told) else None


def _told_by_driver(field: str) -> str:
    """Return what NVIDIA's driver says of the first GPU; empty if it does not."""
    asked = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS_TO_ASK, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.strip().partition("\n")[0].strip()


def cards() -> tuple[str, ...]:
    """Return the identifiers of the GPUs that this process may use, as its environment or the driver numbers them."""
    if (visible := os.environ.get(VISIBLE)) is not None:
        return tuple(each.strip() for each in visible.split(",") if each.strip() not in {"", "-1"})
    return tuple(str(number) for number in range(len([*DRIVER_FILES.glob("*/information")])))


@cache
def cuda_version() -> str:
    """Return the CUDA or ROCm that the installed torch was built for; "none" for a build for processors."""
    try:
        text = Path(str(distribution("torch").locate_file("torch/version.py"))).read_text()
    except (OSError, PackageNotFoundError):
        return NONE
    found = re.search(r"^(?:cuda|hip)\b[^=]*= '([^']+)'", text, re.MULTILINE)
    return found[1] if found else NONE


@cache
def triton_version() -> str:
    """Return the version of the installed Triton, by any of its distributions; "none" without one."""
    for name in ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm"):
        try:
            return distribution(name).version
        except PackageNotFoundError:
            continue
    return NONE


def accelerator() -> dict[str, str]:
    """Return what results on a GPU depend on beside torch: the card, CUDA and Triton."""
    return {"card": card(), "cuda": cuda_version(), "triton": triton_version()}
