"""Span-based dynamic convolution: each kernel is generated from the token's neighbourhood. arXiv 2008.02496, eq. 4-6.

Sizes follow the release: one map with bias generates the kernels of all heads.
"""

from typing import Literal

from search_space.convolution.kernel import WithValue, separable_operations, separable_parameters, weighted_window
from search_space.cost.operation_counts import Operations, linear
from search_space.shape import AttentionShape, linear_parameters


class SpanDynamic(WithValue):
    """A kernel per head and position, generated from the query times a key that spans `kernel_size` tokens."""

    kind: Literal["span_dynamic"] = "span_dynamic"
    """Chooses span-based dynamic convolution, ConvBERT's own."""
    padding: Literal["masked", "as_released"] = "masked"
    """`masked`: padding counts as the end of the sequence. `as_released`: it enters the convolution, as in ConvBERT's
    release, so that a sequence's output depends on the other sequences of the batch; for parity only."""

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the span key, the value map and the kernel generator."""
        span_key = separable_parameters(shape, self.kernel_size)
        generator = linear_parameters(shape.inner_width, self.taps(shape))
        return span_key + self.value_parameters(shape) + generator

    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token."""
        taps = self.taps(shape)
        span_key = separable_operations(shape, self.kernel_size) + Operations(products=shape.inner_width)
        kernels = linear(shape.inner_width, taps) + Operations(softmaxed=taps)
        return span_key + kernels + self.value_operations(shape) + weighted_window(shape, self.kernel_size)

    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token that the branch saves for the backward pass.

        The convolved, and moved, input, the span key, its product with the query, the kernels, and its own values or
        the moved copy of them.
        """
        values = shape.inner_width if self.is_shifted else self.saved_own_values(shape)
        return (1 + self.is_shifted) * shape.width + 2 * shape.inner_width + self.taps(shape) + values

    def elementwise_flops(self, shape: AttentionShape) -> int:
        """Return the FLOPs per token outside matrix products: both windows, and query times span key."""
        return 2 * (shape.width + shape.inner_width) * self.kernel_size + shape.inner_width
