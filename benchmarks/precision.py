"""How each side computes in bfloat16, and whether this processor can. One place, so that rows need not know."""

from contextlib import AbstractContextManager

import torch

from benchmarks.measuring import Skipped
from models.precision import Precision, autocast_to, has_bfloat16

TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 3e-2}


def need(precision: torch.dtype) -> None:
    """Raise Skipped where the processor has no instructions for bfloat16."""
    if precision == torch.bfloat16 and not has_bfloat16(torch.device("cpu")):
        raise Skipped("this processor has no bfloat16 instructions")


def theirs_in(precision: torch.dtype) -> AbstractContextManager[object]:
    """Return the context in which a peer's forward pass runs."""
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16)


def ours_in(precision: torch.dtype) -> AbstractContextManager[object]:
    """Return the context in which our forward pass runs."""
    return autocast_to(named(precision), torch.device("cpu"))


def named(precision: torch.dtype) -> Precision:
    """Return what a recipe calls it."""
    return "bfloat16" if precision == torch.bfloat16 else "float32"
