"""Span-based dynamic convolution: each token's kernel is made from its neighbourhood. arXiv 2008.02496, eq. 4-6."""

from typing import Literal

from search_space.convolution.kernel import (
    WithKernel,
    separable_flops,
    separable_parameters,
    weighted_window_flops,
)
from search_space.shape import AttentionShape, linear_flops, linear_parameters


class SpanDynamic(WithKernel):
    """A kernel per head and position, made from the query times a key that has seen `kernel_size` tokens."""

    kind: Literal["span_dynamic"] = "span_dynamic"

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the span key, the value map and the kernel generator."""
        span_key = separable_parameters(shape, self.kernel_size)
        value = linear_parameters(shape.width, shape.inner_width)
        return span_key + value + linear_parameters(shape.inner_width, shape.heads * self.kernel_size)

    def forward_flops(self, shape: AttentionShape) -> int:
        """Return the operations of the branch on one token."""
        span_key = separable_flops(shape, self.kernel_size) + shape.inner_width  # the product with the query
        value = linear_flops(shape.width, shape.inner_width)
        generator = linear_flops(shape.inner_width, shape.heads * self.kernel_size)
        return span_key + value + generator + weighted_window_flops(shape, self.kernel_size)
