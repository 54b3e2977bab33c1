"""No positions: attention sees a set of tokens; only convolutions, recurrence and visibility know their order."""

from typing import Literal

from search_space.position.option import PositionOption


class NoPositions(PositionOption):
    """Nothing is added to the token embeddings."""

    kind: Literal["none"] = "none"
    """Chooses no positions."""

    def rows(self, positions: int) -> int:
        """Return the rows of the table: none."""
        return 0

    def longest(self, positions: int) -> int | None:
        """Return the longest sequence in tokens: None, any."""
        return None
