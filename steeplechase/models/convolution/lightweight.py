"""Lightweight convolution: one softmax-normalised kernel per head. Wu et al. 2019, arXiv 1901.10430, section 3.1."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from search_space.convolution import Lightweight
from search_space.shape import AttentionShape
from steeplechase.models.convolution import ConvolutionBranch, PaddingMask, value_map
from steeplechase.models.convolution.separable import without_padding
from steeplechase.models.initialisation import truncated_normal
from steeplechase.models.kernels.window import depthwise_window_sum


class HeadKernels(nn.Module):
    """One kernel per head, shared by all positions and all channels of the head."""

    def __init__(self, kernel_size: int, shape: AttentionShape) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.empty(kernel_size, shape.heads))
        self.head_width = shape.head_width

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Initialise near the moving average."""
        truncated_normal(self.logits, generator)

    def forward(self) -> Float[Tensor, "kernel inner"]:
        """Return the normalised kernel of every channel."""
        return self.logits.softmax(0).repeat_interleave(self.head_width, 1)


class Branch(ConvolutionBranch):
    """A value map, then a sliding window with one kernel per head."""

    def __init__(self, option: Lightweight, shape: AttentionShape) -> None:
        super().__init__()
        self.shift = option.shift
        self.value = value_map(option, shape)
        self.kernels = HeadKernels(option.kernel_size, shape)

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        query: Float[Tensor, "batch seq inner"],
        value: Float[Tensor, "batch seq inner"],
        padding_mask: PaddingMask,
    ) -> Float[Tensor, "batch seq inner"]:
        """Return the convolved values; the query is unused."""
        return depthwise_window_sum(without_padding(value, padding_mask), self.kernels(), self.shift)
