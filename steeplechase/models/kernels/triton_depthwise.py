"""Depthwise window operator on CUDA devices: a kernel per channel, the same at every position, with float32 sums.

Each Triton program processes a block of tokens and channels of one sequence. The gradient of the kernel is summed
over the tokens of a sequence by one program and over sequences by torch, so that it is deterministic.
"""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

CHANNELS, TOKENS = 64, 32
"""Of a program."""


def depthwise_window(
    values: Float[Tensor, "batch seq width"], kernel: Float[Tensor, "kernel width"], offset: int
) -> Float[Tensor, "batch seq width"]:
    """Return out[t] = sum over j of kernel[j] * values[t + j - offset], per channel.

    Values and kernel are float32, bfloat16 or float16, independently; values may be a slice of a wider tensor, and
    are zero outside the sequence. Not twice differentiable.
    """
    result: Tensor = _DepthwiseWindow.apply(values, kernel, offset)  # type: ignore[no-untyped-call]
    return result


class _DepthwiseWindow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, kernel: Tensor, offset: int) -> Tensor:
        values, kernel = _rows(values), kernel.contiguous()
        ctx.save_for_backward(values, kernel)
        ctx.offset = offset
        return mixed(values, kernel, offset)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        values, kernel = ctx.saved_tensors
        return *gradients(values, kernel, outputs[0], ctx.offset), None


def mixed(values: Tensor, kernel: Tensor, offset: int) -> Tensor:
    """Return the window sums, in memory of their own."""
    return _mixed(_rows(values), kernel.contiguous(), 1, -offset)


def gradients(values: Tensor, kernel: Tensor, gradient: Tensor, offset: int) -> tuple[Tensor, Tensor]:
    """Return the gradients of the values and of the kernel."""
    values, kernel, gradient = _rows(values), kernel.contiguous(), _rows(gradient)
    to_values = _mixed(gradient, kernel, -1, offset).to(values.dtype)
    return to_values, _kernel_gradient(values, gradient, kernel, offset)


def _rows(tensor: Tensor) -> Tensor:
    """Return the tensor with contiguous channels, as the kernels require."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _mixed(values: Tensor, kernel: Tensor, direction: int, first: int) -> Tensor:
    """Return the sum over taps of kernel[tap] * values[t + direction * tap + first]."""
    batch, seq, width = values.shape
    out = values.new_empty(values.shape)
    grid = (batch * triton.cdiv(width, CHANNELS), triton.cdiv(seq, TOKENS))
    with torch.cuda.device_of(values):
        _mix[grid](values, values.stride(), kernel, out, seq, width, first, direction, len(kernel), TOKENS, CHANNELS)
    return out


def _kernel_gradient(values: Tensor, gradient: Tensor, kernel: Tensor, offset: int) -> Tensor:
    batch, seq, width = values.shape
    parts = values.new_empty((batch, *kernel.shape), dtype=torch.float32)
    grid = (batch * triton.cdiv(width, CHANNELS), len(kernel))
    with torch.cuda.device_of(values):
        _sum[grid](
            *(values, values.stride(), gradient, gradient.stride(), parts),
            *(seq, width, -offset, len(kernel), TOKENS, CHANNELS),
        )
    return parts.sum(0).to(kernel.dtype)


# Kernels: Triton compiles their source with the types of the launch; they are not type-checked.
# ruff: noqa: PLR0913, PLR0917


@triton.jit
@no_type_check
def _mix(
    values, strides, kernel, out, seq, width, first,
    direction: tl.constexpr, kernel_size: tl.constexpr, tokens: tl.constexpr, channels: tl.constexpr,
):  # fmt: skip
    sequence, channel = _place(width, channels)
    position = tl.program_id(1) * tokens + tl.arange(0, tokens)
    start = values + sequence * strides[0]
    mixed = tl.zeros([tokens, channels], tl.float32)
    for tap in range(kernel_size):
        weight = tl.load(kernel + tap * width + channel, channel < width, 0.0).to(tl.float32)
        source = position + direction * tap + first
        mixed += weight[None, :] * _block(start, strides[1], source, channel, seq, width)
    inside = (position < seq)[:, None] & (channel < width)[None, :]
    place = (sequence * seq + position)[:, None] * width + channel[None, :]
    tl.store(out + place, mixed.to(out.dtype.element_ty), inside)


@triton.jit
@no_type_check
def _sum(
    values, strides, gradient, gradient_strides, parts, seq, width, first,
    kernel_size: tl.constexpr, tokens: tl.constexpr, channels: tl.constexpr,
):  # fmt: skip
    """Write for one tap and sequence the sum over tokens of gradient[t] * values[t + tap + first]."""
    sequence, channel = _place(width, channels)
    tap = tl.program_id(1)
    start, gradient_start = values + sequence * strides[0], gradient + sequence * gradient_strides[0]
    summed = tl.zeros([channels], tl.float32)
    for begin in range(0, seq, tokens):
        position = begin + tl.arange(0, tokens)
        wanted = _block(gradient_start, gradient_strides[1], position, channel, seq, width)
        summed += tl.sum(wanted * _block(start, strides[1], position + tap + first, channel, seq, width), 0)
    tl.store(parts + (sequence * kernel_size + tap) * width + channel, summed, channel < width)


@triton.jit
@no_type_check
def _place(width, channels: tl.constexpr):
    """Return this program's sequence and channels."""
    blocks = tl.cdiv(width, channels)
    sequence = (tl.program_id(0) // blocks).to(tl.int64)  # a tensor may hold more elements than 32 bits can count
    return sequence, tl.program_id(0) % blocks * channels + tl.arange(0, channels)


@triton.jit
@no_type_check
def _block(start, stride, position, channel, seq, width):
    """Return some channels at some positions as float32, zero outside the sequence."""
    inside = ((position >= 0) & (position < seq))[:, None] & (channel < width)[None, :]
    return tl.load(start + position[:, None] * stride + channel[None, :], inside, 0.0).to(tl.float32)
