"""Span-based dynamic convolution: each token's kernel is made from its neighbourhood. arXiv 2008.02496, eq. 4-6.

Sizes follow the release: one map with bias generates the kernels of all heads.
"""

from typing import Literal

from search_space.convolution.kernel import (
    WithValue,
    separable_flops,
    separable_parameters,
    weighted_window_flops,
)
from search_space.shape import AttentionShape, linear_flops, linear_parameters


class SpanDynamic(WithValue):
    """A kernel per head and position, made from the query times a key that has seen `kernel_size` tokens."""

    kind: Literal["span_dynamic"] = "span_dynamic"
    pad_leak: Literal["masked", "as_released"] = "masked"
    """`masked`: padding counts as the end of the sequence. `as_released`: it enters the convolution, as in ConvBERT's
    release, so that a sentence's result depends on the sentences beside it; for parity alone."""

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the span key, the value map and the kernel generator."""
        span_key = separable_parameters(shape, self.kernel_size)
        generator = linear_parameters(shape.inner_width, shape.heads * self.kernel_size)
        return span_key + self.value_parameters(shape) + generator

    def forward_flops(self, shape: AttentionShape) -> int:
        """Return the operations of the branch on one token."""
        span_key = separable_flops(shape, self.kernel_size) + shape.inner_width  # the product with the query
        generator = linear_flops(shape.inner_width, shape.heads * self.kernel_size)
        return span_key + self.value_flops(shape) + generator + weighted_window_flops(shape, self.kernel_size)
