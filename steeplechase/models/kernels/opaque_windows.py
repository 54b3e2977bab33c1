"""The Triton window operators as operators of torch: torch.compile puts them into its graph whole, without a break.

Where nothing is compiled the operators are called without torch's dispatcher, which costs time on the host. Importing
this file needs no Triton.
"""

from typing import Any

from torch import Tensor
from torch.library import custom_op


@custom_op("steeplechase::span_window", mutates_args=())
def span_window(values: Tensor, logits: Tensor) -> Tensor:
    """Return the window sums of `triton_window.span_window`."""
    from steeplechase.models.kernels.triton_window import mixed

    return mixed(values, logits)


@custom_op("steeplechase::span_window_gradients", mutates_args=())
def _span_window_gradients(values: Tensor, logits: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    from steeplechase.models.kernels.triton_window import gradients

    return gradients(values, logits, gradient)


@custom_op("steeplechase::depthwise_window", mutates_args=())
def depthwise_window(values: Tensor, kernel: Tensor, offset: int) -> Tensor:
    """Return the window sums of `triton_depthwise.depthwise_window`."""
    from steeplechase.models.kernels.triton_depthwise import mixed

    return mixed(values, kernel, offset)


@custom_op("steeplechase::depthwise_window_gradients", mutates_args=())
def _depthwise_window_gradients(
    values: Tensor, kernel: Tensor, gradient: Tensor, offset: int
) -> tuple[Tensor, Tensor]:
    from steeplechase.models.kernels.triton_depthwise import gradients

    return gradients(values, kernel, gradient, offset)


def _like_first(values: Tensor, *_: Any) -> Tensor:
    return values.new_empty(values.shape)


def _like_both(values: Tensor, weights: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return values.new_empty(values.shape), weights.new_empty(weights.shape)


def _kept(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    values, weights, *ctx.further = inputs
    ctx.save_for_backward(values, weights)


def _span_window_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
    to_values, to_logits = _span_window_gradients(*ctx.saved_tensors, gradient)
    return to_values, to_logits


def _depthwise_window_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
    to_values, to_kernel = _depthwise_window_gradients(*ctx.saved_tensors, gradient, *ctx.further)
    return to_values, to_kernel, None


for _operator, _backward in ((span_window, _span_window_backward), (depthwise_window, _depthwise_window_backward)):
    _operator.register_fake(_like_first)
    _operator.register_autograd(_backward, setup_context=_kept)
for _operator in (_span_window_gradients, _depthwise_window_gradients):
    _operator.register_fake(_like_both)
