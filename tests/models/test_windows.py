"""The window operators against loops written from the equation, numerical gradients, and torch's convolution."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import conv1d

from models.operators.window import depthwise_window_sum, weighted_window_sum

KERNEL_SIZES = st.integers(0, 8).map(lambda half: 2 * half + 1)
SIZES = st.tuples(*(st.integers(1, limit) for limit in (2, 9, 3, 3)), KERNEL_SIZES)
Sizes = tuple[int, ...]  # batch, length, heads, head width, kernel size (often longer than the sequence)


def drawn(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def by_the_equation(length: int, kernel_size: int, term: Callable[[int, int, int], Tensor]) -> Tensor:
    """Return out[t] = sum over taps j of term(t, j, t + j - k // 2), where the last is inside the sequence."""
    rows = []
    for t in range(length):
        reached = [(j, t + j - kernel_size // 2) for j in range(kernel_size)]
        rows.append(torch.stack([term(t, j, source) for j, source in reached if 0 <= source < length]).sum(0))
    return torch.stack(rows, 1)


@given(SIZES)
@settings(max_examples=40)
def test_the_weighted_sum_is_equation_3(sizes: Sizes) -> None:
    batch, length, heads, head_width, kernel_size = sizes
    values, kernels = drawn(batch, length, heads, head_width), drawn(batch, length, heads, kernel_size)
    expected = by_the_equation(
        length, kernel_size, lambda t, j, source: kernels[:, t, :, j, None] * values[:, source]
    )
    torch.testing.assert_close(weighted_window_sum(values, kernels), expected, rtol=0, atol=1e-12)


@given(SIZES)
@settings(max_examples=40)
def test_the_depthwise_sum_is_the_equation_and_torchs_convolution(sizes: Sizes) -> None:
    batch, length, _, width, kernel_size = sizes
    values, kernel = drawn(batch, length, width), drawn(kernel_size, width)
    found = depthwise_window_sum(values, kernel)
    expected = by_the_equation(length, kernel_size, lambda _, j, source: kernel[j] * values[:, source])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    padding = kernel_size // 2
    theirs = conv1d(values.transpose(1, 2), kernel.T[:, None], padding=padding, groups=width).transpose(1, 2)
    torch.testing.assert_close(found, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel_size", [1, 3, 5, 13])
def test_the_gradients_are_those_of_finite_differences(kernel_size: int) -> None:
    values, kernels = drawn(2, 5, 2, 3).requires_grad_(), drawn(2, 5, 2, kernel_size).requires_grad_()
    assert torch.autograd.gradcheck(weighted_window_sum, (values, kernels))
    channels, kernel = drawn(2, 5, 3).requires_grad_(), drawn(kernel_size, 3).requires_grad_()
    assert torch.autograd.gradcheck(depthwise_window_sum, (channels, kernel))


@given(SIZES)
@settings(max_examples=40)
def test_the_gradients_are_those_of_torchs_convolution(sizes: Sizes) -> None:
    batch, length, _, width, kernel_size = sizes
    values, kernel = drawn(batch, length, width).requires_grad_(), drawn(kernel_size, width).requires_grad_()
    weights = drawn(batch, length, width, seed=2)
    theirs = conv1d(values.transpose(1, 2), kernel.T[:, None], padding=kernel_size // 2, groups=width)
    expected = torch.autograd.grad((theirs.transpose(1, 2) * weights).sum(), (values, kernel))
    found = torch.autograd.grad((depthwise_window_sum(values, kernel) * weights).sum(), (values, kernel))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(Exception, match="heads"):
        weighted_window_sum(drawn(2, 5, 3, 4), drawn(2, 5, 2, 3))
    with pytest.raises(Exception, match="width"):
        depthwise_window_sum(drawn(2, 5, 4), drawn(3, 1))
