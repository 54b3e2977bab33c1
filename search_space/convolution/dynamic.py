"""Dynamic convolution: each token makes its kernel from itself. Wu et al. 2019, arXiv 1901.10430, section 3.2.

The gated linear unit that Wu et al. put before the kernel is left out, so that this mode differs from the
span-based one in the source of the kernel and in nothing else.
"""

from typing import Literal

from search_space.convolution.kernel import WithValue, weighted_window_flops
from search_space.shape import AttentionShape, linear_flops, linear_parameters


class Dynamic(WithValue):
    """A kernel per head and position, made from the current token alone."""

    kind: Literal["dynamic"] = "dynamic"

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the value map and of the kernel generator."""
        taps = shape.heads * self.kernel_size
        return self.value_parameters(shape) + linear_parameters(shape.inner_width, taps)

    def forward_flops(self, shape: AttentionShape) -> int:
        """Return the operations of the branch on one token."""
        taps = shape.heads * self.kernel_size
        maps = self.value_flops(shape) + linear_flops(shape.inner_width, taps)
        return maps + weighted_window_flops(shape, self.kernel_size)
