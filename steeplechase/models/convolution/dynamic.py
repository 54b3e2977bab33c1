"""Dynamic convolution: each token generates its kernel. Wu et al. 2019, arXiv 1901.10430, section 3.2.

Without the gated linear unit of the paper; `search_space/convolution/__init__.py` gives the reason.
"""

from jaxtyping import Float
from torch import Tensor, nn

from search_space.convolution.kernel import KernelFromValue
from search_space.shape import AttentionShape
from steeplechase.models.convolution import ConvolutionBranch, PaddingMask, value_map
from steeplechase.models.convolution.separable import without_padding
from steeplechase.models.kernels.window import dynamic_window_sum


class Branch(ConvolutionBranch):
    """A value map; each value generates the kernel for its own neighbourhood."""

    def __init__(self, option: KernelFromValue, shape: AttentionShape) -> None:
        super().__init__()
        self.heads, self.shift = shape.heads, option.shift
        self.value = value_map(option, shape)
        self.generate = nn.Linear(shape.inner_width, shape.heads * option.kernel_size)

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        query: Float[Tensor, "batch seq inner"],
        value: Float[Tensor, "batch seq inner"],
        padding_mask: PaddingMask,
    ) -> Float[Tensor, "batch seq inner"]:
        """Return the convolved values; the kernel at a position depends on that token only."""
        logits = self.generate(value).unflatten(-1, (self.heads, -1))
        values = without_padding(value, padding_mask).unflatten(-1, (self.heads, -1))
        return dynamic_window_sum(values, logits, self.shift).flatten(-2)
