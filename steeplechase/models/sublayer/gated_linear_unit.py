"""The gated linear unit as a sublayer. Dauphin et al. 2017, arXiv 1612.08083."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import glu

from search_space.sublayer.gated_linear_unit import GatedLinearUnit
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext
from steeplechase.models.continuation import Positionwise
from steeplechase.models.convolution import PaddingMask


class Sublayer(Positionwise):
    """One map to twice the width; the first half times the sigmoid of the second."""

    def __init__(self, declaration: GatedLinearUnit, dropout_rate: float) -> None:
        super().__init__()
        self.maps = nn.Linear(declaration.width, 2 * declaration.width)

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        padding_mask: PaddingMask = None,
        context: AttentionContext = NO_CONTEXT,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the gated tokens; positions do not interact."""
        return glu(self.maps(x), -1)
