"""Span-based dynamic convolution: each token's kernel is made from its neighbourhood. arXiv 2008.02496, eq. 4-6.

The released code gives the branch a value map of its own and generates all heads' kernels from one map with bias;
equation 6 passes attention's values. This module follows the release.
"""

from jaxtyping import Float
from torch import Tensor, nn

from models.convolution import Real
from models.convolution.separable import SeparableConvolution, without_padding
from models.operators.window import weighted_window_sum
from search_space.convolution import SpanDynamic
from search_space.shape import AttentionShape


class Branch(nn.Module):
    """The kernel is a softmax over taps of a map of query times span key."""

    def __init__(self, option: SpanDynamic, shape: AttentionShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.span_key = SeparableConvolution(option.kernel_size, shape)
        self.value = nn.Linear(shape.width, shape.inner_width)
        self.generate = nn.Linear(shape.inner_width, shape.heads * option.kernel_size)

    def forward(
        self, x: Float[Tensor, "batch seq width"], query: Float[Tensor, "batch seq inner"], real: Real
    ) -> Float[Tensor, "batch seq inner"]:
        """Return the convolved values."""
        kernels = self.generate(query * self.span_key(x, real)).unflatten(-1, (self.heads, -1)).softmax(-1)
        values = without_padding(self.value(x), real).unflatten(-1, (self.heads, -1))
        return weighted_window_sum(values, kernels).flatten(-2)
