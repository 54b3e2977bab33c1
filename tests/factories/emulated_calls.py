"""What computes on the emulated device: operators that are counted, and fused calls that count as one launch."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from steeplechase.models.kernels import (
    portable,
    triton_depthwise,
    triton_norm,
    triton_vocabulary,
    triton_window,
    window,
)
from steeplechase.models.kernels.vocabulary_cross_entropy import sample_tokens
from tests.factories.emulated_autocast import CAST_WEIGHTS
from tests.factories.emulated_device import (
    NAME,
    Counts,
    EmulatedTensor,
    bytes_of,
    computed,
    device,
    tensors_in,
)  # fmt: skip


class _Operators(TorchDispatchMode):
    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self.counts = counts

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(func, args, kwargs or {}, self.counts)


class _Calls(TorchFunctionMode):
    """Calls that reach the device without an operator, and fused ones that processors compute in parts."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self.counts = counts

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.tensor and "device" in kwargs and torch.device(kwargs["device"]).type == NAME:
            return func(*args, **{**kwargs, "device": "cpu"}).to(device())
        if func is torch.nn.functional.scaled_dot_product_attention and isinstance(args[0], EmulatedTensor):
            mask = args[3] if len(args) > 3 else kwargs.get("attn_mask")
            attention = partial(_attention, kwargs.get("is_causal", False))
            return fused(self.counts, "attention", 1, attention, *args[:3], mask)
        first = args[0] if args else None
        if func is Tensor.pin_memory:
            pinned = first.clone()
            pinned.is_page_locked = True
            return pinned
        if isinstance(first, EmulatedTensor):
            if func is Tensor.tolist:
                self.counts.waits["tolist"] += 1
                return first.detach().host.tolist()
            if func is Tensor.__getitem__:
                return func(first, tree_map(_of_device, args[1], is_leaf=lambda leaf: isinstance(leaf, list)))
            if func is Tensor.new_tensor:
                return torch.as_tensor(args[1]).to(first.dtype).clone().to(device())
        return func(*args, **kwargs)


def _of_device(index: Any) -> Any:
    """Return an index as torch makes it of a list or an array: built on the host, then copied."""
    return torch.as_tensor(index).to(device()) if isinstance(index, list | np.ndarray) else index


@contextmanager
def as_one(counts: Counts, name: str) -> Iterator[None]:
    """Count what is inside as one launch."""
    if counts.on:
        counts.launches[name] += 1
    counts.halted += 1
    try:
        yield
    finally:
        counts.halted -= 1


def fused(counts: Counts, name: str, gradients: int, function: Callable[..., Tensor], *inputs: Any) -> Tensor:
    """Return a function of tensors as one launch; its gradient is `gradients` launches."""
    return _Fused.apply(counts, name, gradients, function, *inputs)  # type: ignore


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, counts: Counts, name: str, gradients: int, function: Any, *inputs: Any) -> Tensor:
        ctx.save_for_backward(*inputs)
        ctx.asked = counts, name, gradients, function
        with as_one(counts, name):
            out = function(*(_host(each) for each in inputs))
        if counts.on:
            counts.moved[name] += bytes_of(tensors_in([*(_host(each) for each in inputs), out]))
        return EmulatedTensor(out)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        counts, name, launches, function = ctx.asked
        inputs = ctx.saved_tensors
        if counts.on:
            counts.launches[f"{name}'s gradient"] += launches - 1
        with as_one(counts, f"{name}'s gradient"), torch.enable_grad():
            leaves = [_host(each) for each in inputs]
            wanted = [each.requires_grad_() for each in leaves if each is not None and each.is_floating_point()]
            made = torch.autograd.grad(function(*leaves), wanted, _host(gradients[0]))
        if counts.on:
            counts.moved[f"{name}'s gradient"] += bytes_of(tensors_in([*leaves, _host(gradients[0]), *made]))
        found = iter(made)
        floats = [each is not None and each.is_floating_point() for each in leaves]
        return (*[None] * 4, *(EmulatedTensor(next(found)) if each else None for each in floats))


def _span_window(values: Tensor, logits: Tensor) -> Tensor:
    summed = portable.weighted_window_sum(values.float(), logits.float().softmax(-1))
    return summed.to(values.dtype)


def _depthwise_window(offset: int, values: Tensor, kernel: Tensor) -> Tensor:
    shift = offset - len(kernel) // 2
    longer = values.float() if not shift else window.extended(values.float(), shift)
    summed = portable.depthwise_window_sum(longer, kernel.float())
    return (window.inside(summed, shift) if shift else summed).to(values.dtype)


def _residual_norm(
    epsilon: float, dropout: float, seed: int, dtype: torch.dtype,
    bias: Tensor | None, weight: Tensor, added: Tensor | None, x: Tensor,
) -> Tensor:  # fmt: skip
    if added is not None:
        kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) >= dropout
        x = (x.float() + added.float() * kept / (1 - dropout)).to(x.dtype)
    return torch.layer_norm(x.float(), x.shape[-1:], weight, bias, epsilon).to(dtype)


def _softmax_of(
    logits: Tensor, bias: Tensor, targets: Tensor, uniforms: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what the kernel of the vocabulary does, whose operator the device counts as one launch."""
    summed = logits.float() + bias
    gradient = summed.softmax(-1) - torch.nn.functional.one_hot(targets, logits.shape[-1])
    losses = torch.nn.functional.cross_entropy(summed, targets, reduction="none")
    return losses, targets.clone() if uniforms is None else sample_tokens(summed, uniforms), gradient.to(logits.dtype)


def _attention(causal: bool, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, 0.0, is_causal=causal)


def _host(value: Any) -> Any:
    return value.detach().host.detach() if isinstance(value, EmulatedTensor) else value


@contextmanager
def emulation() -> Iterator[Counts]:
    """Compute on the device inside, and count; inference mode, which it lacks, is a mode without gradients."""
    from steeplechase.models import precision

    here, counts = device(), Counts()
    clear, has = torch.clear_autocast_cache, precision.has_bfloat16

    def span_window(values: Tensor, logits: Tensor) -> Tensor:
        return fused(counts, "span window", 2, _span_window, values, logits)

    def depthwise_window(values: Tensor, kernel: Tensor, offset: int) -> Tensor:
        return fused(counts, "depthwise window", 3, partial(_depthwise_window, offset), values, kernel)

    def residual_norm(x: Tensor, added: Tensor | None, weight: Tensor, bias: Tensor | None, *settings: Any) -> Tensor:
        return fused(counts, "residual norm", 2, partial(_residual_norm, *settings), bias, weight, added, x)

    def cleared() -> None:
        CAST_WEIGHTS.clear()
        clear()

    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "has_fused", lambda values: isinstance(values, EmulatedTensor))
        patch.setattr(triton_window, "span_window", span_window)
        patch.setattr(triton_depthwise, "depthwise_window", depthwise_window)
        patch.setattr(triton_norm, "residual_norm", residual_norm)
        patch.setattr(triton_vocabulary, "softmax_of", _softmax_of)
        patch.setattr(torch, "clear_autocast_cache", cleared)
        patch.setattr(torch, "inference_mode", torch.no_grad)
        patch.setattr(precision, "has_bfloat16", lambda device: device.type == here.type or has(device))
        stack.enter_context(_Calls(counts))
        stack.enter_context(_Operators(counts))
        stack.callback(CAST_WEIGHTS.clear)
        yield counts
