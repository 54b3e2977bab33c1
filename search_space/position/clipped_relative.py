"""Relative position representations in the keys of attention. Shaw et al. 2018, arXiv 1803.02155, section 3.2."""

from typing import ClassVar, Literal

from search_space.cost import Operations
from search_space.position.option import PositionOption, ScoreSizes
from steeplechase.foundation.schema import Count


class ClippedRelativePositions(PositionOption):
    """Scores of a query with the sum of a key and a learned vector of their distance; any length.

    Nothing is added to the token embeddings, and nothing to the values. Every attention sublayer has its vectors,
    which its heads share.
    """

    in_attention: ClassVar[bool] = True

    kind: Literal["clipped_relative"] = "clipped_relative"
    """Chooses learned vectors of clipped distances."""
    clip: Count = 16
    """The largest distance in tokens that has a vector of its own; larger ones have that of this distance.
    Default: Shaw et al.'s."""

    def rows(self, positions: int) -> int:
        """Return the rows of the table beside the token embeddings: none."""
        return 0

    def longest(self, positions: int) -> int | None:
        """Return the longest sequence in tokens: None, any."""
        return None

    def score_parameters(self, sizes: ScoreSizes) -> int:
        """Return a vector per distance, of the width of one head's key."""
        return self.vectors(sizes.looks_ahead) * (sizes.keys // sizes.heads)

    def query_operations(self, sizes: ScoreSizes) -> Operations:
        """Return the products with the vectors of all distances."""
        return Operations(multiply_adds=sizes.distances * sizes.keys, scalings=sizes.read * sizes.heads)

    def saved_activations(self, sizes: ScoreSizes) -> int:
        """Return the scores, and the vectors of all distances."""
        return sizes.read * sizes.heads + sizes.distances * (sizes.keys // sizes.heads) // sizes.length

    def vectors(self, looks_ahead: bool) -> int:
        """Return the number of distances that have a vector; those of tokens behind a query are below 0."""
        return self.clip + 1 + (self.clip if looks_ahead else 0)
