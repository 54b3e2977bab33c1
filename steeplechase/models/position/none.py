"""No positions, or positions in attention alone: nothing is added to the embeddings."""

from torch import nn

from search_space.position.option import PositionOption


class Positions(nn.Module):
    """Adds nothing."""

    def forward(self, length: int) -> float:
        """Return 0, which is added to the token embeddings."""
        return 0.0


def build(option: PositionOption, positions: int, width: int) -> nn.Module:
    """Return the module that adds nothing."""
    return Positions()
