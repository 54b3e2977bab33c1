"""Sinusoidal position encodings, without parameters. Vaswani et al. 2017, arXiv 1706.03762, section 3.5."""

from typing import Literal

from search_space.position.option import PositionOption


class SinusoidalPositions(PositionOption):
    """Sines and cosines of geometrically spaced wavelengths; sequences of any length."""

    kind: Literal["sinusoidal"] = "sinusoidal"
    """Chooses sinusoidal positions."""

    def rows(self, positions: int) -> int:
        """Return the rows of the table: none is learned."""
        return 0

    def longest(self, positions: int) -> int | None:
        """Return the longest sequence in tokens: None, any."""
        return None
