"""Two sublayers on the same input, added."""

from jaxtyping import Float
from torch import Tensor, nn

from models.convolution import PaddingMask
from models.sublayer import build_sublayer
from search_space.sublayer.parallel import ParallelSublayers


class Sublayer(nn.Module):
    """The sum of two sublayers' outputs."""

    def __init__(self, declaration: ParallelSublayers, dropout_rate: float) -> None:
        super().__init__()
        self.first = build_sublayer(declaration.first, dropout_rate)
        self.second = build_sublayer(declaration.second, dropout_rate)

    def forward(
        self, x: Float[Tensor, "batch seq width"], padding_mask: PaddingMask = None
    ) -> Float[Tensor, "batch seq width"]:
        """Return the sum."""
        total: Tensor = self.first(x, padding_mask) + self.second(x, padding_mask)
        return total
