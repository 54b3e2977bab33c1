"""Window operator of span-dynamic convolution on CUDA devices, softmax included. ConvBERT, arXiv 2008.02496, eq. 3-5.

Each Triton program processes a block of tokens of one head and iterates over the taps; the shifted blocks are cached,
and sums are in float32. Only values and logits are saved for the backward pass, which recomputes the softmax. No two
programs write to the same address, so the gradients are deterministic.
"""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

TILE = 2048  # tokens x channels of a program; twice that spills registers at kernel 33 (ptxas, sm_90)
MOST_TOKENS = 128


def span_window(
    values: Float[Tensor, "batch seq heads head_dim"], logits: Float[Tensor, "batch seq heads kernel"]
) -> Float[Tensor, "batch seq heads head_dim"]:
    """Return out[t] = sum over j of softmax(logits[t])[j] * values[t + j - kernel // 2], per head.

    Values and logits are float32, bfloat16 or float16, independently, and may be slices of wider tensors. Values
    outside the sequence are zero; the caller sets padding to zero. Not twice differentiable.
    """
    result: Tensor = _SpanWindow.apply(values, logits)  # type: ignore[no-untyped-call]
    return result


class _SpanWindow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, logits: Tensor) -> Tensor:
        values, logits = _rows(values), logits.contiguous()
        ctx.save_for_backward(values, logits)
        return mixed(values, logits)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, Tensor]:
        values, logits = ctx.saved_tensors
        return gradients(values, logits, outputs[0])


def mixed(values: Tensor, logits: Tensor) -> Tensor:
    """Return the window sums, in memory of their own."""
    values, logits = _rows(values), logits.contiguous()
    out = values.new_empty(values.shape)
    _launch(_mix, logits, values, (out,))
    return out


def gradients(values: Tensor, logits: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of the values and of the logits."""
    values, logits, gradient = _rows(values), logits.contiguous(), _rows(gradient)
    to_values, to_logits = values.new_empty(values.shape), torch.empty_like(logits)
    normalisers = logits.new_empty(logits.shape[:-1], dtype=torch.float32)
    _launch(_logit_gradients, logits, values, (gradient, gradient.stride(), to_logits, normalisers))
    _launch(_value_gradients, logits, gradient, (normalisers, to_values))
    return to_values, to_logits


def _rows(tensor: Tensor) -> Tensor:
    """Return the tensor with contiguous channels per head, as the kernels require."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _launch(kernel: Any, logits: Tensor, blocks: Tensor, others: tuple[Any, ...]) -> None:
    """Run a kernel over all heads and blocks of tokens, on the tensors' own device."""
    batch, seq, heads, head_dim = blocks.shape
    channels = triton.next_power_of_2(head_dim)
    tokens = min(MOST_TOKENS, triton.next_power_of_2(seq), max(1, TILE // channels))
    grid = (batch * heads, triton.cdiv(seq, tokens))
    with torch.cuda.device_of(blocks):
        kernel[grid](
            logits, blocks, blocks.stride(), *others, seq, heads, head_dim, logits.shape[-1], tokens, channels
        )


# Kernels: Triton compiles their source with the types of the launch; they are not type-checked.
# ruff: noqa: PLR0913, PLR0917


@triton.jit
@no_type_check
def _mix(
    logits, values, strides, out, seq, heads,
    head_dim: tl.constexpr, kernel_size: tl.constexpr, tokens: tl.constexpr, channels: tl.constexpr,
):  # fmt: skip
    sequence, head, position, row = _place(seq, heads, tokens)
    start = values + sequence * strides[0] + head * strides[2]
    weights = _softmax(logits, row, position < seq, kernel_size, tokens)[0]
    mixed = tl.zeros([tokens, channels], tl.float32)
    for tap in tl.static_range(kernel_size):
        source = position + tap - kernel_size // 2
        mixed += weights[tap][:, None] * _block(start, strides[1], source, seq, head_dim, channels)
    _store(out, row, position < seq, mixed, head_dim, channels)


@triton.jit
@no_type_check
def _logit_gradients(
    logits, values, strides, gradient, gradient_strides, to_logits, normalisers, seq, heads,
    head_dim: tl.constexpr, kernel_size: tl.constexpr, tokens: tl.constexpr, channels: tl.constexpr,
):  # fmt: skip
    """Write w[j] (d[j] - sum of w d), where w is the softmax and d[j] = gradient[t] . values[t + j - kernel // 2]."""
    sequence, head, position, row = _place(seq, heads, tokens)
    gradient_start = gradient + sequence * gradient_strides[0] + head * gradient_strides[2]
    wanted = _block(gradient_start, gradient_strides[1], position, seq, head_dim, channels)
    start = values + sequence * strides[0] + head * strides[2]
    weights, normaliser = _softmax(logits, row, position < seq, kernel_size, tokens)
    tl.store(normalisers + row, normaliser, position < seq)
    products, mean = (), tl.zeros([tokens], tl.float32)
    for tap in tl.static_range(kernel_size):
        source = position + tap - kernel_size // 2
        products += (tl.sum(wanted * _block(start, strides[1], source, seq, head_dim, channels), 1),)
        mean += weights[tap] * products[tap]
    for tap in tl.static_range(kernel_size):
        slope = weights[tap] * (products[tap] - mean)
        tl.store(to_logits + row * kernel_size + tap, slope.to(to_logits.dtype.element_ty), position < seq)


@triton.jit
@no_type_check
def _value_gradients(
    logits, gradient, strides, normalisers, to_values, seq, heads,
    head_dim: tl.constexpr, kernel_size: tl.constexpr, tokens: tl.constexpr, channels: tl.constexpr,
):  # fmt: skip
    """Gather for a value what each token that read it hands back: its gradient times the weight of its tap."""
    sequence, head, position, row = _place(seq, heads, tokens)
    start = gradient + sequence * strides[0] + head * strides[2]
    gathered = tl.zeros([tokens, channels], tl.float32)
    for tap in tl.static_range(kernel_size):
        reader = position - tap + kernel_size // 2
        there = (reader >= 0) & (reader < seq)
        reader_row = row + (kernel_size // 2 - tap) * heads
        logit = tl.load(logits + reader_row * kernel_size + tap, there, 0.0).to(tl.float32)
        weight = tl.exp(logit - tl.load(normalisers + reader_row, there, 0.0))
        gathered += weight[:, None] * _block(start, strides[1], reader, seq, head_dim, channels)
    _store(to_values, row, position < seq, gathered, head_dim, channels)


@triton.jit
@no_type_check
def _place(seq, heads, tokens: tl.constexpr):
    """Return this program's sequence, head and positions, and their rows in a dense array of [batch seq heads]."""
    sequence = (tl.program_id(0) // heads).to(tl.int64)  # a tensor may hold more elements than 32 bits can count
    head = tl.program_id(0) % heads
    position = tl.program_id(1) * tokens + tl.arange(0, tokens)
    return sequence, head, position, (sequence * seq + position) * heads + head


@triton.jit
@no_type_check
def _softmax(logits, row, there, kernel_size: tl.constexpr, tokens: tl.constexpr):
    """Return the weight of each tap, and log(sum of exp(logits)); the largest logit is taken out before exp."""
    taps, largest = (), tl.full([tokens], float("-inf"), tl.float32)
    for tap in tl.static_range(kernel_size):
        taps += (tl.load(logits + row * kernel_size + tap, there, 0.0).to(tl.float32),)
        largest = tl.maximum(largest, taps[tap])
    powers, total = (), tl.zeros([tokens], tl.float32)
    for tap in tl.static_range(kernel_size):
        powers += (tl.exp(taps[tap] - largest),)
        total += powers[tap]
    weights = ()
    for tap in tl.static_range(kernel_size):
        weights += (powers[tap] / total,)
    return weights, largest + tl.log(total)


@triton.jit
@no_type_check
def _block(start, stride, position, seq, head_dim: tl.constexpr, channels: tl.constexpr):
    """Return one head's channels at some positions as float32, zero outside the sequence."""
    channel = tl.arange(0, channels)
    inside = ((position >= 0) & (position < seq))[:, None] & (channel < head_dim)
    return tl.load(start + position[:, None] * stride + channel, inside, 0.0).to(tl.float32)


@triton.jit
@no_type_check
def _store(out, row, there, block, head_dim: tl.constexpr, channels: tl.constexpr):
    """Write one head's channels to a dense array, in its own type."""
    channel = tl.arange(0, channels)
    inside = there[:, None] & (channel < head_dim)
    tl.store(out + row[:, None] * head_dim + channel, block.to(out.dtype.element_ty), inside)
