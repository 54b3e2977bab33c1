"""Depthwise-separable convolution beside attention: ConvBERT's conventional mode (arXiv 2008.02496, Table 2)."""

from jaxtyping import Float
from torch import Tensor

from search_space.convolution import Depthwise
from search_space.shape import AttentionShape
from steeplechase.models.convolution import ConvolutionBranch, PaddingMask
from steeplechase.models.convolution.separable import SeparableConvolution


class Branch(ConvolutionBranch):
    """The same kernel at every position, applied to the input of the block."""

    value: None = None

    def __init__(self, option: Depthwise, shape: AttentionShape) -> None:
        super().__init__()
        self.convolution = SeparableConvolution(option, shape)

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        query: Float[Tensor, "batch seq inner"],
        value: Float[Tensor, "batch seq inner"],
        padding_mask: PaddingMask,
    ) -> Float[Tensor, "batch seq inner"]:
        """Return the convolved input; query and value are unused."""
        mixed: Tensor = self.convolution(x, padding_mask)
        return mixed
