"""The weights of all linear maps in autocast's type, cast in multi-tensor kernels; maps of one input as one product.

Autocast casts each weight and bias by itself, and each gradient back: on a GPU hundreds of kernels of a microsecond.
The values are the same. Where a module has several maps of one input, their copies lie one behind the other, so that
they are one larger product without a copy.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

NAMES = ("weight", "bias")


class JoinedMaps:
    """Base class of a module with linear maps of one input, which are one product while their weights are cast."""

    joined: dict[str, Tensor] | None = None
    """Weight and bias of the one product."""

    @property
    def maps_of_input(self) -> tuple[nn.Linear, ...]:
        """The maps, all with a bias or all without one."""
        raise NotImplementedError

    def mapped(self, x: Tensor) -> tuple[Tensor, ...] | None:
        """Return the outputs of the maps, computed together; None where their weights are not cast."""
        if self.joined is None:
            return None
        together = linear(x, self.joined["weight"], self.joined.get("bias"))
        return together.split_with_sizes([each.out_features for each in self.maps_of_input], -1)


@contextmanager
def weights_cast(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Let the linear maps read their weights in autocast's type, where autocast is on and off the processor.

    Gradients reach the parameters, in their own type.
    """
    if device.type == "cpu" or not torch.is_autocast_enabled(device.type):
        yield
        return
    owners = [each for each in model.modules() if isinstance(each, JoinedMaps)]
    joint = [(owner, name, _parameters(owner.maps_of_input, name)) for owner in owners for name in NAMES]
    joint = [(owner, name, group) for owner, name, group in joint if group]
    maps = [each for each in model.modules() if isinstance(each, nn.Linear)]
    read = [(each, name, getattr(each, name)) for each in maps for name in NAMES if getattr(each, name) is not None]
    taken = {id(parameter) for *_, group in joint for parameter in group}
    single = {id(parameter): [parameter] for *_, parameter in read if id(parameter) not in taken}
    groups = [*(group for *_, group in joint), *single.values()]
    dtype, sizes = torch.get_autocast_dtype(device.type), [len(group) for group in groups]
    copies: tuple[Tensor, ...] = _Cast.apply(dtype, sizes, *chain.from_iterable(groups))  # type: ignore
    by_parameter = dict(chain.from_iterable(map(_parts, groups, copies)))
    for (owner, name, _), whole in zip(joint, copies, strict=False):
        owner.joined = {**(owner.joined or {}), name: whole}
    for each, name, parameter in read:
        each.__dict__[name] = by_parameter[id(parameter)]  # found before the parameter of this name
    try:
        yield
    finally:
        for owner in owners:
            owner.joined = None
        for each, name, _ in read:
            del each.__dict__[name]


def _parameters(maps: Sequence[nn.Linear], name: str) -> list[Tensor]:
    return [parameter for each in maps if (parameter := getattr(each, name)) is not None]


def _parts(group: Sequence[Tensor], whole: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Yield the identity of each parameter of a group and its part of the copy."""
    if len(group) == 1:
        yield id(group[0]), whole
        return
    for parameter, part in zip(group, whole.split([len(each) for each in group]), strict=True):
        yield id(parameter), part


class _Cast(torch.autograd.Function):
    """Each group of parameters as one tensor of another type, one behind the other along the first axis."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, sizes: Sequence[int], *parameters: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)  # a weight that the loss does not read has no gradient
        rest = iter(parameters)
        groups = [[*islice(rest, size)] for size in sizes]
        wholes = [group[0].new_empty((sum(map(len, group)), *group[0].shape[1:]), dtype=dtype) for group in groups]
        parts = [part for group, whole in zip(groups, wholes, strict=True) for _, part in _parts(group, whole)]
        torch._foreach_copy_(parts, list(parameters))
        ctx.groups = [[(len(each), each.dtype) for each in group] for group in groups]
        return tuple(wholes)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        narrow, found = list[Tensor](), list[Tensor | None]()
        for whole, group in zip(gradients, ctx.groups, strict=True):
            lengths, dtypes = zip(*group, strict=True)
            parts = [None] * len(group) if whole is None else [whole] if len(group) == 1 else whole.split(lengths)
            narrow += (part for part in parts if part is not None)
            found += (
                None if part is None else torch.empty(part.shape, dtype=dtype, device=part.device)
                for part, dtype in zip(parts, dtypes, strict=True)
            )
        if narrow:
            torch._foreach_copy_([each for each in found if each is not None], narrow)
        return (None, None, *found)
