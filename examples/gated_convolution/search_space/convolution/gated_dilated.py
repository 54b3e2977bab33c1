"""Gated dilated convolution: a depthwise kernel with gaps, gated by the token itself. van den Oord et al. 2016.

WaveNet, arXiv 1609.03499, sections 2.2 and 2.3; centred in place of causal, and linear in place of tanh.
"""

from typing import ClassVar, Literal

from search_space.convolution.kernel import KernelSize
from search_space.convolution.option import ConvolutionOption, Reach
from search_space.cost.operation_counts import Operations, linear
from search_space.shape import AttentionShape, linear_parameters
from steeplechase.foundation.schema import Count


class GatedDilated(ConvolutionOption):
    """A kernel per channel whose taps are `dilation` tokens apart; a sigmoid of the token gates its output."""

    kind: Literal["gated_dilated"] = "gated_dilated"
    """Chooses gated dilated convolution."""
    sized_by: ClassVar[str | None] = "kernel_size"
    kernel_size: KernelSize = 9
    """Taps of the kernel, odd."""
    dilation: Count = 2
    """Distance between two taps in tokens; 1 is the usual convolution."""

    @property
    def branch_width_ratio(self) -> int:
        """Inner widths that the branch adds to the concatenation before the output map."""
        return 1

    @property
    def reach(self) -> Reach:
        """The window, from the first tap to the last."""
        side = self.kernel_size // 2 * self.dilation
        return Reach(side, side)

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the map to values and gates, and of a kernel per channel."""
        return linear_parameters(shape.width, 2 * shape.inner_width) + shape.inner_width * self.kernel_size

    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token."""
        window = Operations(multiply_adds=shape.inner_width * self.kernel_size)
        gate = Operations(sigmoids=shape.inner_width, products=shape.inner_width)
        return linear(shape.width, 2 * shape.inner_width) + window + gate

    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token that the branch saves: values and gates, the sigmoid, the convolved values."""
        return 4 * shape.inner_width

    def elementwise_flops(self, shape: AttentionShape) -> int:
        """Return the FLOPs per token that torch's counter omits: the product with the gate."""
        return shape.inner_width
