"""The span-dynamic convolution operator: kernel logits and values to output and both gradients. ConvBERT eq. 3-5."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from benchmarks.measuring import (
    FORWARD_AND_BACKWARD,
    FULL_SIZE,
    TOLERANCES,
    Figure,
    Pace,
    Row,
    Size,
    allocations,
    check,
    compare,
    exact_figure,
    speed_figure,
)
from benchmarks.references.conv_bert import span_dynamic_operator
from steeplechase.models.activation_checkpointing import saved_bytes
from steeplechase.models.kernels.window import dynamic_window_sum

HEADS, HEAD_WIDTH, KERNEL_SIZE = 2, 64, 9
PEER = "transformers' unfold operator"

Operator = Callable[[Tensor, Tensor], Tensor]


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield speed, memory saved for the backward pass, and peak memory of one call."""
    shape = f"B{size.operator_batch} T{size.length} {HEADS}x{HEAD_WIDTH} k{KERNEL_SIZE}"
    memory = "our bytes / their bytes"
    yield Row(f"span-dynamic operator, {shape}", PEER, 25, lambda pace: _speed(size, pace))
    yield Row("span-dynamic operator, saved for backward", PEER, 1 / 8, lambda _: _saved(size), "lower", memory)
    yield Row("span-dynamic operator, peak memory", PEER, 1 / 9, lambda _: _peak(size), "lower", memory)


def ours(values: Tensor, kernel_logits: Tensor) -> Tensor:
    """Return our operator's output; shapes as for the peer."""
    return dynamic_window_sum(*(part.unflatten(-1, (HEADS, -1)) for part in (values, kernel_logits))).flatten(-2)


def theirs(values: Tensor, kernel_logits: Tensor) -> Tensor:
    """Return the peer's output."""
    return span_dynamic_operator(values, kernel_logits, KERNEL_SIZE)


def agree(first: Operator, second: Operator, size: Size) -> None:
    """Compare outputs and gradients. Raises Disagreement."""
    our_results, their_results = _results(first, size), _results(second, size)
    for name, left, right in zip(
        ("output", "values' gradient", "logits' gradient"), our_results, their_results, strict=True
    ):
        check(name, left, right, TOLERANCES[torch.float32])


def _inputs(size: Size) -> tuple[Tensor, Tensor, Tensor]:
    """Return values, kernel logits and the output's gradient."""
    random = torch.Generator().manual_seed(1)
    batch, length = size.operator_batch, size.length
    widths = (HEADS * HEAD_WIDTH, HEADS * KERNEL_SIZE, HEADS * HEAD_WIDTH)
    values, logits, gradient = (torch.randn(batch, length, width, generator=random) for width in widths)
    return values.requires_grad_(), logits.requires_grad_(), gradient


def _work(operator: Operator, size: Size) -> Callable[[], tuple[Tensor, ...]]:
    values, logits, gradient = _inputs(size)

    def work() -> tuple[Tensor, ...]:
        out = operator(values, logits)
        return (out, *torch.autograd.grad(out, (values, logits), gradient))

    return work


def _results(operator: Operator, size: Size) -> tuple[Tensor, ...]:
    return _work(operator, size)()


def _speed(size: Size, pace: Pace) -> Figure:
    agree(ours, theirs, size)
    multiply_adds = size.operator_batch * size.length * HEADS * HEAD_WIDTH * KERNEL_SIZE
    compared = compare(_work(ours, size), _work(theirs, size), pace)
    return speed_figure(compared, FORWARD_AND_BACKWARD * 2 * multiply_adds)


def _saved(size: Size) -> Figure:
    agree(ours, theirs, size)
    values, logits, _ = _inputs(size)
    our_bytes, their_bytes = saved_bytes(lambda: ours(values, logits)), saved_bytes(lambda: theirs(values, logits))
    return _in_units(our_bytes, their_bytes, size)


def _peak(size: Size) -> Figure:
    agree(ours, theirs, size)
    our_bytes, their_bytes = (allocations(_work(operator, size)).peak for operator in (ours, theirs))
    return _in_units(our_bytes, their_bytes, size)


def _in_units(our_bytes: int, their_bytes: int, size: Size) -> Figure:
    values, _, _ = _inputs(size)
    unit = values.numel() * values.element_size()
    return exact_figure(
        our_bytes, their_bytes, f"{our_bytes / unit:.2f} against {their_bytes / unit:.2f} times the values"
    )
