"""Rotary positions: queries and keys are turned by angles that grow with their position. Su et al. 2021, 2104.09864.

A share of the head alone is turned in GPT-NeoX (Black et al. 2022, arXiv 2204.06745); layers with a
window have a base of their own in ModernBERT (Warner et al. 2024, arXiv 2412.13663).
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from search_space.cost import Operations
from search_space.position.option import PositionOption, ScoreSizes
from steeplechase.foundation.schema import JsonValue

Base = Annotated[float, Field(gt=1, le=1e12)]


class RotaryPositions(PositionOption):
    """Pairs of channels of a head are turned, so that a score depends on the distance of its tokens; any length.

    Nothing is added to the token embeddings, and nothing is learned. Channel i is paired with the one half of the
    turned channels further on, as in GPT-NeoX and ModernBERT. Convolutions read queries that are not turned.
    """

    in_attention: ClassVar[bool] = True
    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"share": 0.67, "base": 160000.0})

    kind: Literal["rotary"] = "rotary"
    """Chooses rotary positions."""
    base: Base = 10_000.0
    """The angle of pair i of n is the position times base^(-i/n). Default: Su et al.'s; ModernBERT has 160,000."""
    local_base: Base | None = Field(default=None, examples=[10_000.0])
    """The base in layers whose attention has a window (ModernBERT: 10,000); None: `base` there too."""
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The share of a head's channels that is turned, from the first on; rounded down to pairs. GPT-NeoX: 0.25."""

    def rows(self, positions: int) -> int:
        """Return the rows of the table: none is learned."""
        return 0

    def longest(self, positions: int) -> int | None:
        """Return the longest sequence in tokens: None, any."""
        return None

    def base_of(self, local: int | None) -> float:
        """Return the base in a layer with or without a window."""
        return self.base if local is None or self.local_base is None else self.local_base

    def turned(self, head_width: int) -> int:
        """Return the channels of a head that are turned, an even number."""
        return int(Fraction(str(self.share)) * head_width) // 2 * 2

    def score_mistakes(self, head_width: int) -> Iterator[str]:
        """Yield that no pair of channels is turned."""
        if not self.turned(head_width):
            least = f"a share of {2 / head_width:g}" if head_width > 1 else "key_width 2"
            yield f"share {self.share:g} of the {head_width} channels of a head is no pair; the least is {least}"

    def sequence_operations(self, sizes: ScoreSizes) -> Operations:
        """Return the turn of the keys, those of a memory too."""
        turned = sizes.heads * self.turned(sizes.keys // sizes.heads) * sizes.read // sizes.length
        return Operations(products=2 * turned, additions=turned)

    def query_operations(self, sizes: ScoreSizes) -> Operations:
        """Return the turn of a query."""
        turned = sizes.heads * self.turned(sizes.keys // sizes.heads)
        return Operations(products=2 * turned, additions=turned)
