"""Incremental decoding: sublayers that continue a sequence from what they keep of its earlier positions.

The outputs equal those of one pass over the whole sequence. Attention keeps keys and values; a sublayer without a
rule of its own keeps its inputs and is computed over them again. Shazeer 2019, arXiv 1911.02150, section 2.4.
"""

from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor, nn

from steeplechase.models.attention_context import Source

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
