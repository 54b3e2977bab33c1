"""The window operators, compiled and in torch, compared with loops over the equation and torch's convolution."""

import sys
from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import conv1d

from steeplechase.models.kernels import portable, window
from steeplechase.models.kernels.native import bindings as calls
from steeplechase.models.kernels.native.build import library

KERNEL_SIZES = st.integers(1, 17)
HEAD_WIDTHS = st.sampled_from((1, 3, 16, 19, 32))  # below, at and beside the compiled operators' lanes
SIZES = st.tuples(st.integers(1, 2), st.integers(1, 9), st.integers(1, 3), HEAD_WIDTHS, KERNEL_SIZES)
Sizes = tuple[int, ...]  # batch, length, heads, head width, kernel size (often longer than the sequence)
ROUNDING = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 6e-2}
TYPES = pytest.mark.parametrize("dtype", ROUNDING, ids=str)
compiled = pytest.mark.skipif(library() is None, reason="this machine has no C compiler")


def drawn(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def by_the_equation(length: int, kernel_size: int, term: Callable[[int, int, int], Tensor]) -> Tensor:
    """Return out[t] = sum over taps j of term(t, j, t + j - k // 2), where the last is inside the sequence."""
    rows = []
    for t in range(length):
        reached = [(j, t + j - kernel_size // 2) for j in range(kernel_size)]
        rows.append(torch.stack([term(t, j, source) for j, source in reached if 0 <= source < length]).sum(0))
    return torch.stack(rows, 1)


def dynamic_by_the_equation(values: Tensor, logits: Tensor) -> Tensor:
    weights, length = logits.softmax(-1), values.shape[1]
    return by_the_equation(length, logits.shape[-1], lambda t, j, at: weights[:, t, :, j, None] * values[:, at])


def outputs_and_gradients(
    operator: Callable[[Tensor, Tensor], Tensor], one: Tensor, other: Tensor
) -> tuple[Tensor, ...]:
    """Return the output and the gradients of both inputs for a drawn gradient of the output."""
    one, other = one.detach().requires_grad_(), other.detach().requires_grad_()
    out = operator(one, other)
    weights = drawn(*out.shape, seed=7).to(out.dtype)
    return (out, *torch.autograd.grad((out * weights).sum(), (one, other)))


def assert_close(found: tuple[Tensor, ...], expected: tuple[Tensor, ...], dtype: torch.dtype) -> None:
    for mine, its in zip(found, expected, strict=True):
        scale = max(1.0, its.abs().max().item())
        assert (mine.double() - its).abs().max() <= ROUNDING[dtype] * scale


@pytest.mark.parametrize("taps", [window.MOST_UNROLLED, window.MOST_UNROLLED + 1])
def test_a_window_that_triton_would_unroll_too_far_is_computed_by_torch(
    taps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused = pytest.raises(ImportError) if taps == window.MOST_UNROLLED else nullcontext()
    monkeypatch.setattr(window, "has_fused", lambda values: True)
    monkeypatch.setitem(sys.modules, "steeplechase.models.kernels.triton_window", None)
    values, logits = drawn(1, 5, 2, 3), drawn(1, 5, 2, taps)
    with fused:
        found = window.dynamic_window_sum(values, logits)
        torch.testing.assert_close(found, dynamic_by_the_equation(values, logits))


@TYPES
@given(SIZES)
@settings(max_examples=30, deadline=None)
def test_the_dynamic_sum_is_equation_3(dtype: torch.dtype, sizes: Sizes) -> None:
    """In float64 with torch, in float32 and bfloat16 with the compiled operators if available."""
    batch, length, heads, head_width, kernel_size = sizes
    values = drawn(batch, length, heads, head_width, dtype=dtype)
    logits = drawn(batch, length, heads, kernel_size, dtype=dtype)
    expected = outputs_and_gradients(dynamic_by_the_equation, values.double(), logits.double())
    assert_close(outputs_and_gradients(window.dynamic_window_sum, values, logits), expected, dtype)


@TYPES
@given(SIZES)
@settings(max_examples=30, deadline=None)
def test_the_depthwise_sum_is_torchs_convolution(dtype: torch.dtype, sizes: Sizes) -> None:
    batch, length, _, width, kernel_size = sizes
    values, kernel = drawn(batch, length, width, dtype=dtype), drawn(kernel_size, width)

    def theirs(values: Tensor, kernel: Tensor) -> Tensor:
        padding = kernel_size // 2
        return conv1d(values.transpose(1, 2), kernel.T[:, None], padding=padding, groups=width)[..., :length].mT

    expected = outputs_and_gradients(theirs, values.double(), kernel)
    found = outputs_and_gradients(
        window.depthwise_window_sum, values, kernel.float() if dtype.itemsize < 8 else kernel
    )
    assert_close(found, expected, dtype)


@compiled
@pytest.mark.parametrize("kernel_size", [2, 3, 8, 9, 33])
def test_the_compiled_operators_are_used_and_equal_torch(kernel_size: int) -> None:
    values, logits = drawn(3, 20, 2, 32).float(), drawn(3, 20, 2, kernel_size).float()
    assert calls.usable(values, logits)
    assert not calls.usable(values.double(), logits)
    alone = outputs_and_gradients(lambda x, w: portable.weighted_window_sum(x, w.softmax(-1)), values, logits)
    assert_close(outputs_and_gradients(window.dynamic_window_sum, values, logits), alone, torch.float32)
    assert not torch.equal(window.dynamic_window_sum(values, logits), window.dynamic_window_sum(values, -logits))


@compiled
def test_a_slice_of_a_wider_tensor_is_read_without_a_copy() -> None:
    wide, logits = drawn(2, 9, 3 * 32).float(), drawn(2, 9, 2, 5).float()
    for part in (wide[..., 32:64], wide[:, :, 64:], wide[1:, :, :32], wide.transpose(0, 1)[:2, :2, :32]):
        values, mine = part.unflatten(-1, (2, 16)), logits[: len(part), : part.shape[1]]
        torch.testing.assert_close(
            window.dynamic_window_sum(values, mine), window.dynamic_window_sum(values.contiguous(), mine)
        )
        kernel = drawn(5, 32).float()
        torch.testing.assert_close(
            window.depthwise_window_sum(part, kernel), window.depthwise_window_sum(part.contiguous(), kernel)
        )


@TYPES
def test_nan_propagates(dtype: torch.dtype) -> None:
    values, logits = drawn(1, 9, 1, 16, dtype=dtype), drawn(1, 9, 1, 3, dtype=dtype)
    values[0, 4], logits[0, 0, 0, 1] = torch.nan, torch.nan
    out = window.dynamic_window_sum(values, logits)
    assert out.isnan().any(-1).flatten().tolist() == [place in (0, 3, 4, 5) for place in range(9)]


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(Exception, match="heads"):
        window.dynamic_window_sum(drawn(2, 5, 3, 4), drawn(2, 5, 2, 3))
    with pytest.raises(Exception, match="width"):
        window.depthwise_window_sum(drawn(2, 5, 4), drawn(3, 1))
