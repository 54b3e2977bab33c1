"""How a token's position enters the model: the options."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from search_space.cost import Operations
from search_space.position.option import PositionOption, ScoreSizes
from steeplechase.foundation.schema import OPTION, Count, JsonValue

Position = Annotated[PositionOption, OPTION]


class LearnedPositions(PositionOption):
    """A table of `positions` rows; a longer sequence is refused.

    Devlin et al. 2018, arXiv 1810.04805.
    """

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


class AnyLength(PositionOption):
    """Sequences of any length, without a table of learned positions."""

    def rows(self, positions: int) -> int:
        """Return the rows of the table: none."""
        return 0

    def longest(self, positions: int) -> int | None:
        """Return the longest sequence in tokens: None, any."""
        return None


class InScores(AnyLength):
    """Attention scores depend on positions; nothing is added to the token embeddings."""

    in_attention: ClassVar[bool] = True


class NoPositions(AnyLength):
    """Nothing is added to the token embeddings.

    Attention sees a set of tokens; only convolutions, recurrence and visibility know their order.
    """

    kind: Literal["none"] = "none"
    """Chooses no positions."""


class SinusoidalPositions(AnyLength):
    """Sines and cosines of geometrically spaced wavelengths; sequences of any length.

    Vaswani et al. 2017, arXiv 1706.03762, section 3.5.
    """

    kind: Literal["sinusoidal"] = "sinusoidal"
    """Chooses sinusoidal positions."""


class RelativePositions(InScores):
    """Scores of (query + u) with keys and of (query + v) with maps of sinusoids of the distance; any length.

    Nothing is added to the token embeddings. Every attention sublayer has its map, u and v. FLOPs and memory count
    the map of the distances in each sequence, which is too much for a batch: its sequences share it.

    Transformer-XL: Dai et al. 2019, arXiv 1901.02860, section 3.3; with segment encodings XLNet: Yang et al. 2019,
    arXiv 1906.08237, section 2.5.
    """

    kind: Literal["relative"] = "relative"
    """Chooses relative positions."""
    clamp: Count | None = Field(default=None, examples=[400])
    """The largest distance in tokens that is told apart from larger ones, for a memory longer than in training
    (Transformer-XL's release: 400); None: every distance."""
    segment_encodings: bool = False
    """Whether scores also depend on whether both tokens are of one segment, by a bias and two vectors per head
    (XLNet); the tokens of a memory are of the first segment."""

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


class ClippedRelativePositions(InScores):
    """Scores of a query with the sum of a key and a learned vector of their distance; any length.

    Nothing is added to the token embeddings, and nothing to the values. Every attention sublayer has its vectors,
    which its heads share.

    Shaw et al. 2018, arXiv 1803.02155, section 3.2, in the keys of attention.
    """

    kind: Literal["clipped_relative"] = "clipped_relative"
    """Chooses learned vectors of clipped distances."""
    clip: Count = 16
    """The largest distance in tokens that has a vector of its own; larger ones have that of this distance.
    Default: Shaw et al.'s."""

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


Base = Annotated[float, Field(gt=1, le=1e12)]


class RotaryPositions(InScores):
    """Pairs of channels of a head are turned, so that a score depends on the distance of its tokens; any length.

    Nothing is added to the token embeddings, and nothing is learned. Channel i is paired with the one half of the
    turned channels further on, as in GPT-NeoX and ModernBERT. Convolutions read queries that are not turned.

    Su et al. 2021, arXiv 2104.09864; a share of the head: GPT-NeoX (Black et al. 2022, arXiv 2204.06745); another
    base in layers with a window: ModernBERT (Warner et al. 2024, arXiv 2412.13663).
    """

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"share": 0.67, "base": 160000.0})

    kind: Literal["rotary"] = "rotary"
    """Chooses rotary positions."""
    base: Base = 10_000.0
    """The angle of pair i of n is the position times base^(-i/n). Default: Su et al.'s; ModernBERT has 160,000."""
    local_base: Base | None = Field(default=None, examples=[10_000.0])
    """The base in layers whose attention has a window (ModernBERT: 10,000); None: `base` there too."""
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The share of a head's channels that is turned, from the first on; rounded down to pairs. GPT-NeoX: 0.25."""

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
        turned = sizes.key_heads * self.turned(sizes.keys // sizes.heads) * sizes.read // sizes.length
        return Operations(products=2 * turned, additions=turned)

    def query_operations(self, sizes: ScoreSizes) -> Operations:
        """Return the operations that turn a query of every head."""
        turned = sizes.heads * self.turned(sizes.keys // sizes.heads)
        return Operations(products=2 * turned, additions=turned)


class LinearBiases(InScores):
    """Scores fall with the distance of their tokens, at a slope of each head; any length, also beyond training's.

    Nothing is added to the token embeddings, and nothing is learned. Where both sides are read, a token behind counts
    as one before, so that a text and its reverse are told apart by convolutions or other sublayers alone.

    ALiBi: Press et al. 2021, arXiv 2108.12409, section 3; on both sides as in MosaicBERT (arXiv 2312.17482, 2.1).
    """

    kind: Literal["alibi"] = "alibi"
    """Chooses linear biases of the scores."""

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
