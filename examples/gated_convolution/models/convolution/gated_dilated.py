"""Gated dilated convolution as a module: one map to values and gates, a dilated depthwise kernel, a product."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import conv1d

from search_space.convolution.gated_dilated import GatedDilated
from search_space.shape import AttentionShape
from steeplechase.models.convolution import ConvolutionBranch, PaddingMask
from steeplechase.models.convolution.separable import without_padding


class Branch(ConvolutionBranch):
    """The branch maps the tokens itself: neither attention's values nor its queries enter."""

    def __init__(self, option: GatedDilated, shape: AttentionShape) -> None:
        super().__init__()
        self.value = None
        self.dilation, self.side = option.dilation, option.reach.look_back
        self.values_and_gates = nn.Linear(shape.width, 2 * shape.inner_width)
        self.kernel = nn.Parameter(torch.empty(shape.inner_width, 1, option.kernel_size))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Set every tap to 1/k, a moving average; nothing is drawn. Linear maps inside have their own rule."""
        nn.init.constant_(self.kernel, 1 / self.kernel.shape[-1])

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        query: Float[Tensor, "batch seq inner"],
        value: Float[Tensor, "batch seq inner"],
        padding_mask: PaddingMask,
    ) -> Float[Tensor, "batch seq inner"]:
        """Return the gated, convolved values."""
        values, gates = self.values_and_gates(x).chunk(2, -1)
        channels = without_padding(values, padding_mask).transpose(1, 2)
        kernel = self.kernel.to(channels.dtype)
        window: Tensor = conv1d(channels, kernel, padding=self.side, dilation=self.dilation, groups=len(kernel))
        return window.transpose(1, 2) * gates.sigmoid()
