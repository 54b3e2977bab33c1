"""Dynamic convolution with its gated linear unit (GLU): linear map, GLU, kernel per token. Wu et al. 2019, section 3.

arXiv 1901.10430; the map behind the convolution is the sublayer's output map.
"""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import glu

from search_space.convolution import GatedDynamic
from search_space.shape import AttentionShape
from steeplechase.models.convolution import dynamic


class GatedLinear(nn.Linear):
    """A linear map to twice the inner width; the first half times the sigmoid of the second (a GLU)."""

    def __init__(self, shape: AttentionShape) -> None:
        super().__init__(shape.width, 2 * shape.inner_width)

    def forward(self, input: Float[Tensor, "batch seq width"]) -> Float[Tensor, "batch seq inner"]:  # noqa: A002
        """Return the gated values."""
        return glu(super().forward(input), -1)


class Branch(dynamic.Branch):
    """Dynamic convolution whose value map is gated."""

    def __init__(self, option: GatedDynamic, shape: AttentionShape) -> None:
        super().__init__(option, shape)
        self.value = GatedLinear(shape)
