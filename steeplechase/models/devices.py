"""The device of a recipe. A missing device is an error, never a fallback, because results would differ."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from steeplechase.foundation.devices import NONE, Device, is_gpu, triton_version
from steeplechase.foundation.errors import MachineError

WITHOUT_COPIES = ("cpu", "meta")
"""Types of devices to which nothing is copied from the host's memory; `meta` has shapes alone."""


def open_device(name: Device) -> torch.device:
    """Return the device. Raises MachineError if this machine does not have it."""
    if is_gpu(name) and not torch.get_device_module(name).is_available():
        raise MachineError(f"recipe.device: {name} is not available on this machine; allowed here: cpu")
    if name == "cuda" and triton_version() == NONE:
        raise MachineError(
            "recipe.device: cuda needs Triton, without which convolutions have other bits and many more kernels, and "
            "it is not installed; pip install triton as torch's own pin says"
        )
    return torch.device(name)


def forget_peak_memory(device: torch.device) -> None:
    """Begin to measure the peak of the memory that this process holds on a GPU anew."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_memory(device: torch.device) -> int | None:
    """Return the most bytes that tensors of this process held at once on a GPU; None of a processor."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None


def on_device(array: NDArray[Any], device: torch.device) -> Tensor:
    """Return an array as a tensor; a copy to an accelerator is from page-locked memory, and the host goes on."""
    tensor = torch.from_numpy(array)
    if device.type in WITHOUT_COPIES:
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
