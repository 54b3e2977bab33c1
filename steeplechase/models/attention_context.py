"""What sublayers read of a batch beside their input, of attention and of a decoder, and how they continue a sequence.

Incremental decoding: sublayers that continue a sequence from what they keep of its earlier positions. The outputs
equal those of one pass over the whole sequence. Attention keeps keys and values; a sublayer without a rule of its own
keeps its inputs and is computed over them again. Shazeer 2019, arXiv 1911.02150, section 2.4.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from steeplechase.models.convolution import PaddingMask


@dataclass(frozen=True)
class LayerMemory:
    """The inputs of one attention sublayer at the tokens before the segment. Transformer-XL, arXiv 1901.02860."""

    states: Float[Tensor, "batch memory width"]
    """Without a gradient."""
    valid: Bool[Tensor, "batch memory"]
    """False where a row has had fewer tokens since its stream began."""


@dataclass(frozen=True)
class PredictionOrder:
    """The order in which tokens of a batch are predicted, for two streams. XLNet, arXiv 1906.08237, section 2.3.

    The content stream has a vector per token, which reads the tokens up to its own rank. The query stream, which
    follows it along the sequence, has a vector per prediction, which reads the tokens below the rank of its own.
    """

    ranks: Int[Tensor, "batch seq"]
    """A predicted token has a rank of its own; tokens of the context share one, 0 or that of a later part of the row,
    and read each other. A row has tokens of rank 0."""
    positions: Int[Tensor, "batch predictions"]
    """Where the query stream stands; at a token of rank 0, which is not predicted, it reads those of rank 0."""
    real: Bool[Tensor, "batch seq"] | None = None
    """False at padding, which nothing reads; None: no padding."""

    @property
    def visible(self) -> Bool[Tensor, "batch queries seq"]:
        """Which tokens are read, by the content stream and then by the query stream."""
        read = self.ranks[:, None, :]
        asked = self.ranks.gather(1, self.positions).clamp(min=1)
        visible = torch.cat([self.ranks[:, :, None] >= read, asked[:, :, None] > read], 1)
        return visible if self.real is None else visible & self.real[:, None, :]


@dataclass(frozen=True)
class AttentionContext:
    """Fields are None where the architecture or the batch has nothing of the kind."""

    prefix: Bool[Tensor, "batch seq"] | None = None
    """The tokens that every token reads, with visibility `prefix`. UNILM: Dong et al. 2019, arXiv 1905.03197."""
    visible: Bool[Tensor, "batch seq seq"] | None = None
    """Where a query, the first of both places, reads a key, in place of the architecture's visibility."""
    memory: LayerMemory | None = None
    """What was before the segment, for this layer; every token reads all of it."""
    order: PredictionOrder | None = None
    """The order of prediction, with visibility `permutation` in pretraining."""
    segments: Int[Tensor, "batch seq"] | None = None
    """The segment of every token, for scores with segment encodings; None: one segment."""
    backwards: Bool[Tensor, " batch"] | None = None
    """The rows that read their text from its end, whose relative positions have the other sign; None: no row."""


NO_CONTEXT = AttentionContext()


@runtime_checkable
class ReadsContext(Protocol):
    """A sublayer that reads the source, or has sublayers of its own."""

    def read(self, x: Float[Tensor, "batch seq width"], context: "DecodingContext") -> Tensor:
        """Return the output [batch seq width]."""


@dataclass(frozen=True)
class Source:
    """The output of an encoder."""

    states: Float[Tensor, "batch source width"]
    padding_mask: PaddingMask = None
    """True for tokens; None: no padding."""

    def rows(self, rows: Int[Tensor, " rows"]) -> "Source":
        """Return some rows, in any order and any number of times."""
        mask = None if self.padding_mask is None else self.padding_mask[rows]
        return Source(self.states[rows], mask)


@dataclass(frozen=True)
class DecodingContext:
    """The context of one pass over a whole target; a `Continuation` reads it token by token."""

    source: Source | None = None
    padding_mask: PaddingMask = None
    """Of the target."""

    def reading(self, sublayer: nn.Module) -> Callable[[Tensor], Tensor]:
        """Return a sublayer as a function of its input alone."""
        return lambda x: self.read(sublayer, x)

    def read(self, sublayer: nn.Module, x: Float[Tensor, "batch seq width"]) -> Tensor:
        """Return the output of a sublayer [batch seq width]."""
        if isinstance(sublayer, ReadsContext):
            return sublayer.read(x, self)
        output: Tensor = sublayer(x, self.padding_mask)
        return output


SMALLEST_CAPACITY = 64
"""Positions for which a cache has memory at first; the memory is doubled when it is full."""


class Continuation(ABC):
    """A sublayer while a sequence is decoded."""

    @abstractmethod
    def __call__(self, x: Float[Tensor, "rows new width"]) -> Float[Tensor, "rows new width"]:
        """Return the output at new positions, which follow those of the calls before."""

    @abstractmethod
    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Continue with other rows, as many as before: each has the past of the row that is named for it."""

    @abstractmethod
    def forget(self, count: int) -> None:
        """Continue as if the last `count` positions had not been read."""


class Positionwise(nn.Module):
    """A sublayer whose output at a position depends on its input there alone, so that it needs no cache."""

    def continuation(self, source: Source | None) -> Continuation:
        """Return the sublayer, which keeps nothing."""
        return _OfEachPosition(self)


@runtime_checkable
class Continued(Protocol):
    """A sublayer with a rule of its own for incremental decoding."""

    def continuation(self, source: Source | None) -> Continuation:
        """Return the sublayer at the start of a sequence; `source` is what cross-attention reads."""


def continuation_of(sublayer: nn.Module, source: Source | None) -> Continuation:
    """Return a sublayer at the start of a sequence that is decoded."""
    return sublayer.continuation(source) if isinstance(sublayer, Continued) else Recomputed(sublayer)


class WithoutPast(Continuation):
    """A continuation that keeps nothing of earlier positions."""

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Nothing depends on the rows' past."""

    def forget(self, count: int) -> None:
        """Nothing depends on earlier positions."""


class _OfEachPosition(WithoutPast):
    def __init__(self, sublayer: nn.Module) -> None:
        self._sublayer = sublayer

    def __call__(self, x: Tensor) -> Tensor:
        output: Tensor = self._sublayer(x)
        return output


class Recomputed(Continuation):
    """A sublayer that is computed over all its inputs so far again."""

    def __init__(self, sublayer: nn.Module) -> None:
        self._sublayer, self._inputs = sublayer, PositionCache()

    def __call__(self, x: Tensor) -> Tensor:
        """Return the output at new positions."""
        whole: Tensor = self._sublayer(self._inputs.append(x), None)
        return whole[:, -x.shape[1] :]

    def reorder(self, rows: Tensor) -> None:
        """Continue with the inputs of other rows."""
        self._inputs.reorder(rows)

    def forget(self, count: int) -> None:
        """Leave out the last inputs."""
        self._inputs.forget(count)


class PositionCache:
    """Vectors of the positions so far, in memory that is allocated ahead."""

    def __init__(self) -> None:
        self.memory: Tensor | None = None  # [rows capacity width]
        self.length = 0

    def append(self, x: Float[Tensor, "rows new width"]) -> Float[Tensor, "rows seq width"]:
        """Keep the vectors of new positions; return those of all as a view, valid until the next call."""
        before, self.length = self.length, self.length + x.shape[1]
        if self.memory is None or self.length > self.memory.shape[1]:
            self._grow(x, before)
        assert self.memory is not None
        self.memory.narrow(1, before, x.shape[1]).copy_(x)
        return self.memory.narrow(1, 0, self.length)

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Continue with other rows, as many as before."""
        if self.memory is not None:
            kept = self.memory[:, : self.length]
            kept.copy_(kept.index_select(0, rows))

    def forget(self, count: int) -> None:
        """Leave out the last positions."""
        self.length -= count

    def _grow(self, x: Tensor, kept: int) -> None:
        capacity = max(SMALLEST_CAPACITY, 2 * self.length)
        memory = x.new_empty(len(x), capacity, x.shape[2])
        if self.memory is not None:
            memory[:, :kept] = self.memory[:, :kept]
        self.memory = memory


class KeyValueCache:
    """Keys and values of the positions so far by head, side by side in memory that is allocated ahead."""

    def __init__(self, heads: int, keys: int, values: int) -> None:
        self._heads, self._sizes, self._cache = heads, (keys, values), PositionCache()
        self._memory: Tensor | None = None
        self._by_head: tuple[Tensor, Tensor] | None = None

    @property
    def length(self) -> int:
        """Number of positions."""
        return self._cache.length

    def append(
        self, keys_and_values: Float[Tensor, "rows new both"]
    ) -> tuple[Float[Tensor, "rows heads seq head_dim"], Float[Tensor, "rows heads seq value_dim"]]:
        """Keep the keys and values of new positions; return those of all, as views that are valid until the next."""
        self._cache.append(keys_and_values)
        if self._by_head is None or self._memory is not self._cache.memory:
            self._memory = memory = self._cache.memory
            assert memory is not None
            keys, values = memory.split_with_sizes(self._sizes, -1)
            self._by_head = by_head(keys, self._heads), by_head(values, self._heads)
        keys, values = self._by_head
        return keys.narrow(2, 0, self.length), values.narrow(2, 0, self.length)

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Continue with other rows, as many as before."""
        self._cache.reorder(rows)

    def forget(self, count: int) -> None:
        """Leave out the last positions."""
        self._cache.forget(count)


def by_head(x: Float[Tensor, "rows seq inner"], heads: int) -> Float[Tensor, "rows heads seq head_dim"]:
    """Return the channels of each head apart."""
    rows, seq, inner = x.shape
    return x.view(rows, seq, heads, inner // heads).transpose(1, 2)
