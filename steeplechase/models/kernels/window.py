"""Window operators: weighted sums over neighbouring tokens, with memory-efficient gradients.

The values are never unfolded, and only the values and the weights are saved for the backward pass. A tap outside the
sequence reads zero. Compiled operators run on processors and Triton on GPUs if available; `portable` is the reference
in plain torch, for every device and data type. Off the processor all sums are in float32.
"""

from importlib.util import find_spec
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from steeplechase.models.kernels import opaque_windows, portable
from steeplechase.models.kernels.native import bindings
from steeplechase.models.precision import to_float32

MOST_UNROLLED = 33
"""Taps of a dynamic window in Triton: it unrolls them, and at 65 it spills registers and compiles for minutes."""
HAS_TRITON = find_spec("triton") is not None


def dynamic_window_sum(
    values: Float[Tensor, "batch seq heads head_dim"],
    logits: Float[Tensor, "batch seq heads kernel"],
    shift: int = 0,
) -> Float[Tensor, "batch seq heads head_dim"]:
    """Return out[t] = sum over j of softmax(logits[t])[j] * values[t + j - kernel // 2 - shift] per head.

    ConvBERT, arXiv 2008.02496, eq. 3. A shift of (kernel - 1) // 2 is a causal window, -(kernel // 2) looks ahead.
    """
    if shift:
        return inside(dynamic_window_sum(extended(values, shift), extended(logits, -shift)), shift)
    if bindings.usable(values, logits):
        compiled: Tensor = _DynamicWindowSum.apply(values, logits)  # type: ignore[no-untyped-call]
        return compiled
    if has_fused(values) and logits.shape[-1] <= MOST_UNROLLED:
        if torch.compiler.is_compiling():
            whole: Tensor = opaque_windows.span_window(values, logits)
            return whole
        from steeplechase.models.kernels.triton_window import span_window

        fused: Tensor = span_window(values, logits)
        return fused
    if values.device.type == "cpu":
        return portable.weighted_window_sum(values, logits.softmax(-1).to(values.dtype))
    summed = portable.weighted_window_sum(to_float32(values), logits.softmax(-1).to(to_float32(values).dtype))
    return summed.to(values.dtype)


def depthwise_window_sum(
    values: Float[Tensor, "batch seq width"], kernel: Float[Tensor, "kernel width"], shift: int = 0
) -> Float[Tensor, "batch seq width"]:
    """Return out[t] = sum over j of kernel[j] * values[t + j - kernel // 2 - shift], per channel.

    A depthwise convolution; a shift of (kernel - 1) // 2 makes it causal, one of -(kernel // 2) looks ahead.
    """
    if has_fused(values):
        offset = len(kernel) // 2 + shift
        if torch.compiler.is_compiling():
            whole: Tensor = opaque_windows.depthwise_window(values, kernel, offset)
            return whole
        from steeplechase.models.kernels.triton_depthwise import depthwise_window

        fused: Tensor = depthwise_window(values, kernel, offset)
        return fused
    if shift:
        return inside(depthwise_window_sum(extended(values, shift), kernel), shift)
    if bindings.usable(values, kernel):
        compiled: Tensor = _DepthwiseWindowSum.apply(values, kernel)  # type: ignore[no-untyped-call]
        return compiled
    if values.device.type == "cpu":
        return portable.depthwise_window_sum(values, kernel.to(values.dtype))
    summed = portable.depthwise_window_sum(to_float32(values), kernel.to(to_float32(values).dtype))
    return summed.to(values.dtype)


def has_fused(values: Tensor) -> bool:
    """Return whether Triton's operators compute these values."""
    return values.is_cuda and values.dtype != torch.float64 and HAS_TRITON


def extended(x: Float[Tensor, "batch seq ..."], shift: int) -> Float[Tensor, "batch longer ..."]:
    """Return x with `shift` zeros before the first position, or `-shift` after the last."""
    zeros = x.new_zeros(x.shape[0], abs(shift), *x.shape[2:])
    return torch.cat([zeros, x] if shift > 0 else [x, zeros], 1)


def inside(x: Float[Tensor, "batch longer ..."], shift: int) -> Float[Tensor, "batch seq ..."]:
    """Return the outputs of a window over extended values that belong to positions of the sequence."""
    return x[:, :-shift] if shift > 0 else x[:, -shift:]


def _late(kernel_size: int) -> int:
    """Return the positions by which the compiled gradient of a value is late: 1 for an even kernel."""
    return 1 - kernel_size % 2


def _followed(x: Float[Tensor, "batch seq ..."], zeros: int) -> Float[Tensor, "batch longer ..."]:
    return extended(x, -zeros) if zeros else x


class _DynamicWindowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, logits: Tensor) -> Tensor:
        out, weights = bindings.dynamic_window_forward(values, logits)
        ctx.save_for_backward(values, weights)
        ctx.logits_dtype = logits.dtype
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        values, weights = ctx.saved_tensors
        late = _late(weights.shape[-1])
        sources = (_followed(each, late) for each in (values, weights, gradients[0]))
        to_values, to_logits = bindings.dynamic_window_backward(*sources)
        return to_values[:, late:], to_logits[:, : values.shape[1]].to(ctx.logits_dtype)


class _DepthwiseWindowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, kernel: Tensor) -> Tensor:
        ctx.save_for_backward(values, kernel)
        return bindings.depthwise_window(values, kernel)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        values, kernel = ctx.saved_tensors
        late = _late(len(kernel))
        to_values = bindings.depthwise_window(_followed(gradients[0].to(values.dtype), late), kernel, flipped=True)
        return to_values[:, late:], bindings.depthwise_kernel_gradient(values, gradients[0], len(kernel)).to(
            kernel.dtype
        )
