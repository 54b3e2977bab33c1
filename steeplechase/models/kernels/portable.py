"""The window operators in plain torch, for every device and data type.

Both operators shift and accumulate: the values are never unfolded, and only the values and the kernels are saved for
the backward pass. A tap outside the sequence reads zero.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def weighted_window_sum(
    values: Float[Tensor, "batch seq heads head_dim"], kernels: Float[Tensor, "batch seq heads kernel"]
) -> Float[Tensor, "batch seq heads head_dim"]:
    """Return out[t] = sum over j of kernels[t, j] * values[t + j - kernel // 2], per head (ConvBERT eq. 3)."""
    result: Tensor = _WeightedWindowSum.apply(values, kernels)  # type: ignore[no-untyped-call]
    return result


def depthwise_window_sum(
    values: Float[Tensor, "batch seq width"], kernel: Float[Tensor, "kernel width"]
) -> Float[Tensor, "batch seq width"]:
    """Return out[t] = sum over j of kernel[j] * values[t + j - kernel // 2], per channel: a depthwise convolution."""
    result: Tensor = _DepthwiseWindowSum.apply(values, kernel)  # type: ignore[no-untyped-call]
    return result


def _taps(length: int, kernel_size: int) -> Iterator[tuple[int, slice, slice]]:
    """Yield every tap with the slices of its outputs and inputs."""
    for tap in range(kernel_size):
        offset = tap - kernel_size // 2
        first, last = max(0, -offset), length - max(0, offset)
        if first < last:
            yield tap, slice(first, last), slice(first + offset, last + offset)


class _WeightedWindowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, kernels: Tensor) -> Tensor:
        ctx.save_for_backward(values, kernels)
        out = torch.zeros_like(values)
        for tap, reached, read in _taps(values.shape[1], kernels.shape[-1]):
            out[:, reached].addcmul_(values[:, read], kernels[:, reached, :, tap, None])
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        values, kernels = ctx.saved_tensors
        (gradient,) = gradients
        to_values, to_kernels = torch.zeros_like(values), torch.zeros_like(kernels)
        for tap, reached, read in _taps(values.shape[1], kernels.shape[-1]):
            to_values[:, read].addcmul_(gradient[:, reached], kernels[:, reached, :, tap, None])
            to_kernels[:, reached, :, tap] = (gradient[:, reached] * values[:, read]).sum(-1)
        return to_values, to_kernels


class _DepthwiseWindowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, kernel: Tensor) -> Tensor:
        ctx.save_for_backward(values, kernel)
        out = torch.zeros_like(values)
        for tap, reached, read in _taps(values.shape[1], len(kernel)):
            out[:, reached].addcmul_(values[:, read], kernel[tap])
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        values, kernel = ctx.saved_tensors
        (gradient,) = gradients
        to_values, to_kernel = torch.zeros_like(values), torch.zeros_like(kernel)
        for tap, reached, read in _taps(values.shape[1], len(kernel)):
            to_values[:, read].addcmul_(gradient[:, reached], kernel[tap])
            to_kernel[tap] = (gradient[:, reached] * values[:, read]).sum((0, 1))
        return to_values, to_kernel
