"""Two sublayers on the same input, added."""

from jaxtyping import Float
from torch import Tensor, nn

from models.attention_context import NO_CONTEXT, AttentionContext
from models.convolution import PaddingMask
from models.decoding_context import DecodingContext
from models.sublayer import build_sublayer
from search_space.sublayer.parallel import ParallelSublayers


class Sublayer(nn.Module):
    """The sum of two sublayers' outputs."""

    def __init__(self, declaration: ParallelSublayers, dropout_rate: float) -> None:
        super().__init__()
        self.first = build_sublayer(declaration.first, dropout_rate)
        self.second = build_sublayer(declaration.second, dropout_rate)

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        padding_mask: PaddingMask = None,
        context: AttentionContext = NO_CONTEXT,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the sum."""
        total: Tensor = self.first(x, padding_mask, context) + self.second(x, padding_mask, context)
        return total

    def read(self, x: Float[Tensor, "batch seq width"], context: DecodingContext, name: str) -> Tensor:
        """Return the sum in a decoder [batch seq width]; each branch has a cache of its own."""
        return context.read(self.first, x, f"{name}.first") + context.read(self.second, x, f"{name}.second")
