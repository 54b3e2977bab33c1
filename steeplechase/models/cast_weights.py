"""The weights of all linear maps in autocast's type, cast in multi-tensor kernels.

Autocast casts each weight and bias by itself, and each gradient back: on a GPU hundreds of kernels of a microsecond.
The values are the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

NAMES = ("weight", "bias")


@contextmanager
def weights_cast(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Let the linear maps read their weights in autocast's type, where autocast is on and off the processor.

    Gradients reach the parameters, in their own type.
    """
    if device.type == "cpu" or not torch.is_autocast_enabled(device.type):
        yield
        return
    maps = [each for each in model.modules() if isinstance(each, nn.Linear)]
    read = [(each, name, getattr(each, name)) for each in maps for name in NAMES if getattr(each, name) is not None]
    parameters = list({id(parameter): parameter for *_, parameter in read}.values())
    copies: tuple[Tensor, ...] = _Cast.apply(torch.get_autocast_dtype(device.type), *parameters)  # type: ignore
    by_parameter = dict(zip(map(id, parameters), copies, strict=True))
    for each, name, parameter in read:
        each.__dict__[name] = by_parameter[id(parameter)]  # found before the parameter of this name
    try:
        yield
    finally:
        for each, name, _ in read:
            del each.__dict__[name]


class _Cast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *parameters: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)  # a weight that the loss does not read has no gradient
        copies = [torch.empty_like(each, dtype=dtype) for each in parameters]
        torch._foreach_copy_(copies, parameters)
        ctx.dtypes = [each.dtype for each in parameters]
        return tuple(copies)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        found = [(each, dtype) for each, dtype in zip(gradients, ctx.dtypes, strict=True) if each is not None]
        wide = [torch.empty_like(each, dtype=dtype, memory_format=torch.contiguous_format) for each, dtype in found]
        if wide:
            torch._foreach_copy_(wide, [each for each, _ in found])
        rest = iter(wide)
        return (None, *(None if each is None else next(rest) for each in gradients))
