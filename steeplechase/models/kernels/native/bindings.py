"""The compiled operators as functions of tensors: on processors, in float32 or bfloat16, contiguous channels."""

import ctypes
from collections.abc import Callable

import torch
from torch import Tensor

from steeplechase.models.kernels.native.build import library

SUFFIXES = {torch.float32: "float32", torch.bfloat16: "bfloat16"}


def usable(*tensors: Tensor) -> bool:
    """Return whether the compiled operators can take these tensors; to torch.compile they are unknown."""
    if torch.compiler.is_compiling():
        return False
    supported = all(each.device.type == "cpu" and each.dtype in SUFFIXES for each in tensors)
    return supported and library() is not None


def dynamic_window_forward(values: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return the window sums [batch seq heads head_dim] and the weights [batch seq heads kernel], in float32."""
    values, logits = _contiguous(values), logits.float().contiguous()
    weights, out = torch.empty_like(logits), torch.empty(values.shape, dtype=values.dtype)
    sources = (values, values.stride(1), logits)
    _call("dynamic_window_forward", values, *values.shape, logits.shape[-1], *sources, weights, out)
    return out, weights


def dynamic_window_backward(values: Tensor, weights: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of the values and, in float32, of the logits."""
    values, gradient = _contiguous(values), _contiguous(gradient.to(values.dtype))
    to_values, to_logits = torch.empty(values.shape, dtype=values.dtype), torch.empty_like(weights)
    sources = (values, values.stride(1), weights, gradient, gradient.stride(1))
    _call("dynamic_window_backward", values, *values.shape, weights.shape[-1], *sources, to_values, to_logits)
    return to_values, to_logits


def depthwise_window(values: Tensor, kernel: Tensor, flipped: bool = False) -> Tensor:
    """Return the window sums [batch seq width]; `flipped` reverses the taps."""
    values, kernel = _contiguous(values), kernel.float().contiguous()
    out = torch.empty(values.shape, dtype=values.dtype)
    sources = (values, values.stride(1), kernel, int(flipped))
    _call("depthwise_window", values, *values.shape, len(kernel), *sources, out)
    return out


def depthwise_kernel_gradient(values: Tensor, gradient: Tensor, kernel_size: int) -> Tensor:
    """Return the gradient of the kernel [kernel width], in float32."""
    values, gradient = _contiguous(values), _contiguous(gradient.to(values.dtype))
    to_kernel = torch.zeros(kernel_size, values.shape[-1])
    sources = (values, values.stride(1), gradient, gradient.stride(1))
    _call("depthwise_kernel_gradient", values, *values.shape, kernel_size, *sources, to_kernel)
    return to_kernel


def vocabulary_softmax(
    logits: Tensor, bias: Tensor, targets: Tensor, uniforms: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Add the bias to the logits [rows vocab] and replace them by probabilities, in place.

    Return each row's loss in nats and a sampled token; without uniform numbers the samples are undefined.
    """
    assert logits.is_contiguous()
    assert 0 <= targets.min() <= targets.max() < logits.shape[1], "a target is not a token of the vocabulary"
    bias, targets = bias.float().contiguous(), targets.long().contiguous()
    numbers = 0 if uniforms is None else uniforms.float().contiguous()
    losses, samples, row_of_exponentials = torch.empty(len(logits)), torch.empty_like(targets), torch.empty_like(bias)
    sources = (logits, bias, targets, losses, numbers, samples, row_of_exponentials)
    _call("vocabulary_softmax", logits, *logits.shape, *sources)
    return losses, samples


def _call(name: str, like: Tensor, *arguments: Tensor | int) -> None:
    """Call the operator compiled for the data type of `like`."""
    compiled = library()
    assert compiled is not None
    operator: Callable[..., None] = compiled[f"{name}_{SUFFIXES[like.dtype]}"]
    operator(*(_argument(each) for each in arguments))


def _argument(value: Tensor | int) -> ctypes.c_void_p | ctypes.c_int64:
    return ctypes.c_void_p(value.data_ptr()) if isinstance(value, Tensor) else ctypes.c_int64(value)


def _contiguous(x: Tensor) -> Tensor:
    """Return the tensor, copied unless its channels and sequences are contiguous."""
    packed = x.stride(-1) == 1 and (x.ndim == 3 or x.shape[2] == 1 or x.stride(2) == x.shape[3])
    follows = x.shape[0] == 1 or x.stride(0) == x.shape[1] * x.stride(1)
    return x if packed and follows else x.contiguous()
