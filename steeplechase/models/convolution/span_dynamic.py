"""Span-based dynamic convolution: each kernel is generated from the token's neighbourhood. arXiv 2008.02496, eq. 4-6.

As in the released code, one map with bias generates all heads' kernels.
"""

from jaxtyping import Float
from torch import Tensor, nn

from search_space.convolution import SpanDynamic
from search_space.shape import AttentionShape
from steeplechase.models.convolution import ConvolutionBranch, PaddingMask, value_map
from steeplechase.models.convolution.separable import SeparableConvolution, without_padding
from steeplechase.models.kernels.window import dynamic_window_sum


class Branch(ConvolutionBranch):
    """The kernel is a softmax, over the taps, of a linear map of query times span key."""

    def __init__(self, option: SpanDynamic, shape: AttentionShape) -> None:
        super().__init__()
        self.heads, self.shift = shape.heads, option.shift
        self.leaks = option.padding == "as_released"
        self.span_key = SeparableConvolution(option, shape)
        self.value = value_map(option, shape)
        self.generate = nn.Linear(shape.inner_width, shape.heads * option.kernel_size)

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        query: Float[Tensor, "batch seq inner"],
        value: Float[Tensor, "batch seq inner"],
        padding_mask: PaddingMask,
    ) -> Float[Tensor, "batch seq inner"]:
        """Return the convolved values."""
        inside = None if self.leaks else padding_mask
        logits = self.generate(query * self.span_key(x, inside)).unflatten(-1, (self.heads, -1))
        values = without_padding(value, inside).unflatten(-1, (self.heads, -1))
        return dynamic_window_sum(values, logits, self.shift).flatten(-2)
