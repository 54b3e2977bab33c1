"""Relative positions inside attention. Transformer-XL: Dai et al. 2019, arXiv 1901.02860, section 3.3.

With segment encodings: XLNet, Yang et al. 2019, arXiv 1906.08237, section 2.5.
"""

from typing import ClassVar, Literal

from pydantic import Field

from search_space.cost import Operations
from search_space.position.option import PositionOption, ScoreSizes
from steeplechase.foundation.schema import Count


class RelativePositions(PositionOption):
    """Scores of (query + u) with keys and of (query + v) with maps of sinusoids of the distance; any length.

    Nothing is added to the token embeddings. Every attention sublayer has its map, u and v.
    """

    in_attention: ClassVar[bool] = True

    kind: Literal["relative"] = "relative"
    """Chooses relative positions."""
    clamp: Count | None = Field(default=None, examples=[400])
    """The largest distance in tokens that is told apart from larger ones, for a memory longer than in training
    (Transformer-XL's release: 400); None: every distance."""
    segment_encodings: bool = False
    """Whether scores also depend on whether both tokens are of one segment, by a bias and two vectors per head
    (XLNet); the tokens of a memory are of the first segment."""

    def rows(self, positions: int) -> int:
        """Return the rows of the table: none is learned."""
        return 0

    def longest(self, positions: int) -> int | None:
        """Return the longest sequence in tokens: None, any."""
        return None

    @property
    def reads_segments(self) -> bool:
        """Whether scores depend on the segments of their tokens."""
        return self.segment_encodings

    def score_parameters(self, sizes: ScoreSizes) -> int:
        """Return the map of the distances and both biases; segments have a bias and two vectors."""
        return sizes.width * sizes.keys + 2 * sizes.keys + (3 * sizes.keys if self.segment_encodings else 0)

    def sequence_operations(self, sizes: ScoreSizes) -> Operations:
        """Return the map of the distances."""
        return Operations(multiply_adds=sizes.distances * sizes.width * sizes.keys // sizes.length)

    def query_operations(self, sizes: ScoreSizes) -> Operations:
        """Return the products with the mapped distances, and the biases."""
        keys, scores = sizes.keys, sizes.read * sizes.heads
        terms = Operations(multiply_adds=sizes.distances * keys, additions=2 * keys, scalings=scores)
        if self.segment_encodings:
            terms += Operations(multiply_adds=2 * keys, additions=keys + scores)
        return terms

    def saved_activations(self, sizes: ScoreSizes) -> int:
        """Return the queries with both biases, the scores, and the distances before and after their map."""
        keys, heads = sizes.keys, sizes.heads
        saved = 2 * keys + sizes.read * heads + sizes.distances * (keys + sizes.width) // sizes.length
        return saved + (keys + 2 * heads if self.segment_encodings else 0)
