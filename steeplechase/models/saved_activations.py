"""Measured memory of a forward pass: what autograd saves for the backward pass."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def saved_bytes(
    forward: Callable[[], Tensor | tuple[Tensor, ...]], without: Iterable[Tensor] = (), *, output: bool = True
) -> int:
    """Return the bytes that a forward pass saves, each storage once, those of `without` not counted.

    Outputs are counted where they are saved, unless `output` is false. Raises ValueError where none has a gradient.
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
    outputs = (result,) if isinstance(result, Tensor) else result
    if not any(each.requires_grad for each in outputs):
        raise ValueError("no output has a gradient, so that a forward pass saves nothing")
    if not output:
        for each in outputs:
            sizes.pop(each.untyped_storage().data_ptr(), None)
    return sum(sizes.values())
