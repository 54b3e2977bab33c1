"""No positions."""

from torch import nn

from search_space.position import NoPositions


class Positions(nn.Module):
    """Adds nothing."""

    def forward(self, length: int) -> float:
        """Return 0."""
        return 0.0


def build(option: NoPositions, positions: int, width: int) -> nn.Module:
    """Return the module that adds nothing."""
    return Positions()
