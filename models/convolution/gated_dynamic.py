"""Dynamic convolution with its gated linear unit (GLU): linear map, GLU, kernel per token. Wu et al. 2019, section 3.

arXiv 1901.10430; the map behind the convolution is the sublayer's output map.
"""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import glu

from models.convolution import ConvolutionBranch, PaddingMask
from models.convolution.separable import without_padding
from models.kernels.window import dynamic_window_sum
from search_space.convolution import GatedDynamic
from search_space.shape import AttentionShape


class GatedLinear(nn.Linear):
    """A linear map to twice the inner width; the first half times the sigmoid of the second (a GLU)."""

    def __init__(self, shape: AttentionShape) -> None:
        super().__init__(shape.width, 2 * shape.inner_width)

    def forward(self, input: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq inner"]:  # noqa: A002
        """Return the gated values."""
        return glu(super().forward(input), -1)


class Branch(ConvolutionBranch):
    """A gated value map; each gated value generates the kernel for its own neighbourhood."""

    def __init__(self, option: GatedDynamic, shape: AttentionShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.value = GatedLinear(shape)
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
        return dynamic_window_sum(values, logits).flatten(-2)
