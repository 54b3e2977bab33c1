"""Measured memory of a forward pass: what autograd saves for the backward pass."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def saved_bytes(forward: Callable[[], Tensor], without: Iterable[Tensor], *, output: bool = True) -> int:
    """Return the bytes that a forward pass saves, each storage once, those of `without` not counted.

    The output is counted where it is saved, unless `output` is false. Raises ValueError where it has no gradient.
    """
    outside = {tensor.untyped_storage().data_ptr() for tensor in without}
    sizes: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in outside:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = forward()  # held here, so that nothing is freed before it is counted
    if not result.requires_grad:
        raise ValueError("the output has no gradient, so that a forward pass saves nothing")
    if not output:
        sizes.pop(result.untyped_storage().data_ptr(), None)
    return sum(sizes.values())
