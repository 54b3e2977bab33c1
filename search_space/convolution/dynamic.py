"""Dynamic convolution: each token generates its kernel. Wu et al. 2019, arXiv 1901.10430, section 3.2.

The gated linear unit (GLU) that Wu et al. and ConvBERT's text put before the kernel is left out, so that this option
and the span-based one differ in the source of the kernel alone; `gated_dynamic` has it. This option therefore differs
from the option in ConvBERT's Table 2: the departure is in `papers.toml`, and every report with such an arm states it.
"""

from typing import Literal

from search_space.convolution.kernel import WithValue, weighted_window
from search_space.cost.operation_counts import Operations, linear
from search_space.shape import AttentionShape, linear_parameters


class Dynamic(WithValue):
    """A kernel per head and position, generated from the current token alone."""

    kind: Literal["dynamic"] = "dynamic"
    """Chooses dynamic convolution."""

    def parameters(self, shape: AttentionShape) -> int:
        """Return the parameters of the value map and of the kernel generator."""
        return self.value_parameters(shape) + linear_parameters(shape.inner_width, self.taps(shape))

    def operations(self, shape: AttentionShape) -> Operations:
        """Return the operations of the branch per token."""
        taps = self.taps(shape)
        kernels = linear(shape.inner_width, taps) + Operations(softmaxed=taps)
        return self.value_operations(shape) + kernels + weighted_window(shape, self.kernel_size)

    def saved_activations(self, shape: AttentionShape) -> int:
        """Return the values per token that the branch saves for the backward pass: its own values and the kernels."""
        return self.saved_own_values(shape) + self.taps(shape)
