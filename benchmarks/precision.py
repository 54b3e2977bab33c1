"""Precision of each side: autocast contexts for bfloat16, and whether the processor supports it."""

from contextlib import AbstractContextManager

import torch

from benchmarks.measuring import Skipped
from steeplechase.foundation.devices import Precision
from steeplechase.models.precision import autocast_to, has_bfloat16

TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 3e-2}


def need(precision: torch.dtype) -> None:
    """Raise Skipped if the processor has no bfloat16 instructions."""
    if precision == torch.bfloat16 and not has_bfloat16(torch.device("cpu")):
        raise Skipped("this processor has no bfloat16 instructions")


def theirs_in(precision: torch.dtype) -> AbstractContextManager[object]:
    """Return the autocast context of a peer's forward pass."""
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16)


def ours_in(precision: torch.dtype) -> AbstractContextManager[object]:
    """Return the autocast context of our forward pass."""
    return autocast_to(named(precision), torch.device("cpu"))


def named(precision: torch.dtype) -> Precision:
    """Return the name of a precision in recipes."""
    return "bfloat16" if precision == torch.bfloat16 else "float32"
