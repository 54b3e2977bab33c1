"""Numerical precision: float32 with or without TensorFloat-32, or bfloat16 in matrix products and what lies between.

With bfloat16 the weights and their updates, the sums inside layer norms and the losses stay in float32.
"""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from steeplechase.foundation.devices import Precision
from steeplechase.foundation.environment import instructions
from steeplechase.foundation.errors import MachineError

KNOWN = frozenset({"cpu", "cuda"})
"""Devices that have autocast; of others, such as meta, torch is asked first."""
INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "bf16")  # as Linux names them on x86 and ARM
UNIT = 1 << 30
"""The integer of probability 1 where sampling adds integers; the sum of all probabilities still fits into 32 bits."""


def autocast_to(precision: Precision, device: torch.device) -> torch.autocast:
    """Return the context for a forward pass. Raises MachineError if bfloat16 would be slower than float32."""
    if precision == "bfloat16" and not has_bfloat16(device):
        problem = "recipe.precision: this machine has no bfloat16 instructions and emulates it, slower than float32"
        raise MachineError(f"{problem}; allowed here: float32")
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


def has_bfloat16(device: torch.device) -> bool:
    """Return whether the device multiplies bfloat16 in hardware."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return any(each in instructions().split() for each in INSTRUCTIONS)


def to_autocast_dtype(x: Tensor) -> Tensor:
    """Return x in the autocast data type, so that an input of several matrix products is converted once."""
    dtype = autocast_dtype(x.device)
    return x if dtype is None else x.to(dtype)


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """Return the data type that autocast computes in on the device; None where it is off."""
    return torch.get_autocast_dtype(device.type) if _has_autocast(device) else None


def to_float32(x: Tensor) -> Tensor:
    """Return x in float32 or wider, for losses."""
    return x.float() if x.dtype.itemsize < torch.float32.itemsize else x


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Return a context without autocast: operations compute in the data type of their inputs."""
    return torch.autocast(device.type, enabled=False) if _has_autocast(device) else nullcontext()


def _has_autocast(device: torch.device) -> bool:
    """Return whether operations on the device are computed in autocast's data type."""
    return torch.is_autocast_enabled(device.type) if device.type in KNOWN else _is_enabled(device.type)


def _is_enabled(device: str) -> bool:
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
