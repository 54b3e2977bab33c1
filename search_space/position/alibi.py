"""Attention with linear biases, ALiBi. Press et al. 2021, arXiv 2108.12409, section 3.

Where tokens on both sides are read, the distance counts on both, as in MosaicBERT (arXiv 2312.17482, section 2.1).
"""

from typing import ClassVar, Literal

from search_space.cost import Operations
from search_space.position.option import PositionOption, ScoreSizes


class LinearBiases(PositionOption):
    """Scores fall with the distance of their tokens, at a slope of each head; any length, also beyond training's.

    Nothing is added to the token embeddings, and nothing is learned. Where both sides are read, a token behind counts
    as one before, so that a text and its reverse are told apart by convolutions or other sublayers alone.
    """

    in_attention: ClassVar[bool] = True

    kind: Literal["alibi"] = "alibi"
    """Chooses linear biases of the scores."""

    def rows(self, positions: int) -> int:
        """Return the rows of the table: none is learned."""
        return 0

    def longest(self, positions: int) -> int | None:
        """Return the longest sequence in tokens: None, any."""
        return None

    def query_operations(self, sizes: ScoreSizes) -> Operations:
        """Return the sums of the scores and their biases, which are equal for all sequences and saved once."""
        return Operations(additions=sizes.read * sizes.heads)

    @staticmethod
    def slopes(heads: int) -> tuple[float, ...]:
        """Return the slope of each head, the steepest first.

        Of 2^n heads those of the paper, 2^(-8 i / 2^n) from i = 1 on. Of another number, as in its code, those of the
        next lower power of two, then every other of the next higher one's.
        """
        power = 1 << (heads.bit_length() - 1)
        own = [2.0 ** (-8 * number / power) for number in range(1, power + 1)]
        between = [2.0 ** (-8 * number / (2 * power)) for number in range(1, 2 * power + 1, 2)]
        return (*own, *between[: heads - power])
