"""Learned position embeddings: a table with a row per position. Devlin et al. 2018, arXiv 1810.04805."""

from typing import Annotated, Literal

from pydantic import Field

from search_space.position.option import PositionOption


class LearnedPositions(PositionOption):
    """A table of `positions` rows; a longer sequence is refused."""

    kind: Literal["learned"] = "learned"
    """Chooses learned positions."""
    offset: Annotated[int, Field(ge=0, le=64)] = 0
    """Row of the first token. RoBERTa and BART keep rows of padding before it: 2."""

    def rows(self, positions: int) -> int:
        """Return the rows of the table."""
        return positions

    def longest(self, positions: int) -> int | None:
        """Return the longest sequence in tokens; None for any."""
        return max(0, positions - self.offset)
