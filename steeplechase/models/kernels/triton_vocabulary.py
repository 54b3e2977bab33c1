"""Softmax over a vocabulary on CUDA devices: cross-entropy, its gradient and sampled tokens in one kernel.

A program reads the logits of one row; those of a second pass are in the card's cache. All sums are in float32, in a
fixed order. Probabilities are added up for sampling as integers, so that their cumulative sums never decrease.
"""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from steeplechase.models.precision import UNIT

COLUMNS, WARPS = 4096, 8
"""Of a program."""


def softmax_of(
    logits: Float[Tensor, "predicted vocab"],
    bias: Float[Tensor, " vocab"],
    targets: Int[Tensor, " predicted"],
    uniforms: Float[Tensor, " predicted"] | None,
) -> tuple[Float[Tensor, " predicted"], Int[Tensor, " predicted"], Float[Tensor, "predicted vocab"]]:
    """Return each row's cross-entropy in nats under softmax(logits + bias), a sampled token, and the loss's gradient.

    The gradient is that of the logits, in their type. Without uniform numbers the targets stand for samples.
    """
    rows, words = logits.shape
    losses = logits.new_empty(rows, dtype=torch.float32)
    tokens, gradients = torch.empty_like(targets), torch.empty_like(logits)
    drawn = losses if uniforms is None else uniforms
    with torch.cuda.device_of(logits):
        _entropy[(rows,)](
            *(logits.contiguous(), bias, targets.contiguous(), drawn, losses, tokens, gradients, words),
            *(uniforms is not None, UNIT, COLUMNS),
            num_warps=WARPS,
        )
    return losses, tokens, gradients


# Kernels: Triton compiles their source with the types of the launch; they are not type-checked.
# ruff: noqa: PLR0913, PLR0917


@triton.jit
@no_type_check
def _entropy(
    logits, bias, targets, uniforms, losses, tokens, gradients, words,
    samples: tl.constexpr, unit: tl.constexpr, columns: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)  # a tensor may hold more elements than 32 bits can count
    start, column = logits + row * words, tl.arange(0, columns)
    largest = tl.full([columns], float("-inf"), tl.float32)
    for begin in range(0, words, columns):
        largest = tl.maximum(largest, _block(start, bias, begin + column, words))
    most = tl.max(largest, 0)
    summed = tl.zeros([columns], tl.float32)
    for begin in range(0, words, columns):
        summed += tl.exp(_block(start, bias, begin + column, words) - most)
    total = tl.sum(summed, 0)
    target = tl.load(targets + row)
    of_target = tl.load(start + target).to(tl.float32) + tl.load(bias + target).to(tl.float32)
    tl.store(losses + row, tl.log(total) + most - of_target)
    parts = tl.zeros([columns], tl.int32)
    for begin in range(0, words, columns):
        probability = tl.exp(_block(start, bias, begin + column, words) - most) / total
        parts += _part(probability, unit)
        gradient = probability - tl.where(begin + column == target, 1.0, 0.0)
        place = gradients + row * words + begin + column
        tl.store(place, gradient.to(gradients.dtype.element_ty), begin + column < words)
    token = target
    if samples:
        place = (tl.load(uniforms + row).to(tl.float64) * tl.sum(parts, 0)).to(tl.int32)
        before, passed = place * 0, place * 0
        for begin in range(0, words, columns):
            part = _part(tl.exp(_block(start, bias, begin + column, words) - most) / total, unit)
            reached = before + tl.cumsum(part, 0) <= place
            passed += tl.sum((reached & (begin + column < words)).to(tl.int32), 0)
            before += tl.sum(part, 0)
        token = tl.minimum(passed, words - 1).to(tl.int64)
    tl.store(tokens + row, token)


@triton.jit
@no_type_check
def _block(start, bias, column, words):
    """Return the logits of some tokens as float32, minus infinity behind the vocabulary."""
    inside = column < words
    of_bias = tl.load(bias + column, inside, 0.0).to(tl.float32)
    return tl.load(start + column, inside, float("-inf")).to(tl.float32) + of_bias


@triton.jit
@no_type_check
def _part(probability, unit: tl.constexpr):
    return (probability * unit + 0.5).to(tl.int32)
