"""The device that a recipe names; a machine without it refuses and never falls back to other arithmetic."""

from typing import Literal

import torch

from foundation.errors import MachineError


def open_device(name: Literal["cpu", "cuda"]) -> torch.device:
    """Return the device. Raises MachineError where this machine has none."""
    if name == "cuda" and not torch.cuda.is_available():
        raise MachineError("recipe.device: cuda was asked for and this machine offers none; allowed here: cpu")
    return torch.device(name)
