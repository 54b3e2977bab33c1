"""Lightweight convolution: one softmax-normalised kernel per head. Wu et al. 2019, arXiv 1901.10430, section 3.1."""

from typing import Literal

from search_space.convolution.kernel import WithValue, weighted_window
from search_space.cost.operation_counts import Operations
from search_space.shape import AttentionShape


class Lightweight(WithValue):
    """A learned kernel per head, shared by the head's channels and by all positions."""

    kind: Literal["lightweight"] = "lightweight"
    """Chooses lightweight convolution."""

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the value map and of one kernel per head."""
        return self.value_parameters(shape) + self.taps(shape)

    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token."""
        return self.value_operations(shape) + weighted_window(shape, self.kernel_size)

    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token saved for the backward pass: the branch's own values, or a moved copy."""
        return shape.inner_width if self.is_shifted else self.saved_own_values(shape)

    def elementwise_flops(self, shape: AttentionShape) -> int:
        """Return the FLOPs per token outside matrix products: the window."""
        return 2 * weighted_window(shape, self.kernel_size).multiply_adds
