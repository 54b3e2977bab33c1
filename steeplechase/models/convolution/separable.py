"""Depthwise-separable convolution over tokens: a kernel per channel, then a pointwise map across channels."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from search_space.convolution.kernel import WithKernel
from search_space.shape import AttentionShape
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.kernels.window import depthwise_window_sum


class DepthwiseKernel(nn.Module):
    """One kernel per channel, without bias; initialised to a moving average (1/k, ConvBERT's release)."""

    def __init__(self, kernel_size: int, width: int, shift: int = 0) -> None:
        super().__init__()
        self.shift = shift
        self.weight = nn.Parameter(torch.empty(kernel_size, width))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Set every tap to 1/k; nothing is drawn from the generator."""
        nn.init.constant_(self.weight, 1 / len(self.weight))

    def forward(self, x: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq width"]:
        """Return the convolved channels."""
        return depthwise_window_sum(x, self.weight, self.shift)


class SeparableConvolution(nn.Module):
    """A separable convolution from the width to the inner width; padding is zeroed first."""

    def __init__(self, option: WithKernel, shape: AttentionShape) -> None:
        super().__init__()
        self.depthwise = DepthwiseKernel(option.kernel_size, shape.width, option.shift)
        self.pointwise = nn.Linear(shape.width, shape.inner_width)

    def forward(
        self, x: Float[Tensor, "batch seq width"], padding_mask: PaddingMask
    ) -> Float[Tensor, "batch seq inner"]:
        """Return the convolved and mapped tokens."""
        mapped: Tensor = self.pointwise(self.depthwise(without_padding(x, padding_mask)))
        return mapped


def without_padding(
    x: Float[Tensor, "batch seq width"], padding_mask: PaddingMask
) -> Float[Tensor, "batch seq width"]:
    """Return the tokens with padding set to zero, the same as zero padding at the end of the sequence."""
    return x if padding_mask is None else x.masked_fill(~padding_mask[..., None], 0.0)
