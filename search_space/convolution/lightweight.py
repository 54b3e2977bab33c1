"""Lightweight convolution: one softmax-normalised kernel per head. Wu et al. 2019, arXiv 1901.10430, section 3.1."""

from typing import Literal

from search_space.convolution.kernel import WithValue, weighted_window_flops
from search_space.shape import AttentionShape


class Lightweight(WithValue):
    """A learned kernel per head, shared by the head's channels and by all positions."""

    kind: Literal["lightweight"] = "lightweight"

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the value map and of one kernel per head."""
        return self.value_parameters(shape) + shape.heads * self.kernel_size

    def forward_flops(self, shape: AttentionShape) -> int:
        """Return the operations of the branch on one token."""
        return self.value_flops(shape) + weighted_window_flops(shape, self.kernel_size)
