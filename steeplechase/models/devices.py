"""The device of a recipe. A missing device is an error, never a fallback, because results would differ."""

from typing import Literal

import torch

from steeplechase.foundation.errors import MachineError


def open_device(name: Literal["cpu", "cuda"]) -> torch.device:
    """Return the device. Raises MachineError if this machine does not have it."""
    if name == "cuda" and not torch.cuda.is_available():
        raise MachineError("recipe.device: cuda is not available on this machine; allowed here: cpu")
    return torch.device(name)
