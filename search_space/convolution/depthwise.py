"""Depthwise-separable convolution beside attention: ConvBERT's conventional mode (arXiv 2008.02496, Table 2)."""

from typing import Literal

from search_space.convolution.kernel import WithKernel, separable_operations, separable_parameters
from search_space.cost.operation_counts import Operations
from search_space.shape import AttentionShape


class Depthwise(WithKernel):
    """One learned kernel per channel of the block's input, then a pointwise map; the same at every position."""

    kind: Literal["depthwise"] = "depthwise"
    """Chooses depthwise-separable convolution."""

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the branch, the output map excluded."""
        return separable_parameters(shape, self.kernel_size)

    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token."""
        return separable_operations(shape, self.kernel_size)

    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token that it saves for the backward pass: the convolved and the moved input."""
        return (1 + self.is_shifted) * shape.width

    def elementwise_flops(self, shape: AttentionShape) -> int:
        """Return the FLOPs per token outside matrix products: the window over the input."""
        return 2 * shape.width * self.kernel_size
