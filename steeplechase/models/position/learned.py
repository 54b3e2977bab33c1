"""Learned position embeddings."""

from jaxtyping import Float
from torch import Tensor, nn

from search_space.position import LearnedPositions


class Positions(nn.Embedding):
    """A table with a row per position, of which the first `offset` belong to no token."""

    def __init__(self, offset: int, positions: int, width: int) -> None:
        super().__init__(positions, width)
        self.offset = offset

    def forward(self, length: int) -> Float[Tensor, "seq width"]:  # type: ignore[override]
        """Return the embeddings of the first `length` positions."""
        return self.weight.narrow(0, self.offset, length)


def build(option: LearnedPositions, positions: int, width: int) -> nn.Module:
    """Return the table of learned positions."""
    return Positions(option.offset, positions, width)
