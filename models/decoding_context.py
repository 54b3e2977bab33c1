"""What the sublayers of a decoder read beside their input: the encoded source, and caches of earlier positions.

A cache makes incremental decoding equal to one pass over the whole target: attention keeps keys and values, and a
sublayer without a rule of its own keeps its inputs and is computed over them again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.convolution import PaddingMask

Cached = tuple[Tensor, ...]
"""Tensors of earlier positions; their first axis is the batch."""


class Positionwise(nn.Module):
    """A sublayer whose output at a position depends on its input there alone, so that it needs no cache."""


@runtime_checkable
class Incremental(Protocol):
    """A sublayer that continues from cached tensors; it sees earlier positions alone."""

    def extend(
        self, x: Float[Tensor, "batch new width"], earlier: Cached | None
    ) -> tuple[Float[Tensor, "batch new width"], Cached]:
        """Return the output at the new positions, and the tensors to keep; `earlier` is None at the first ones."""


@runtime_checkable
class ReadsContext(Protocol):
    """A sublayer that reads the source, or has sublayers of its own."""

    def read(self, x: Float[Tensor, "batch seq width"], context: "DecodingContext", name: str) -> Tensor:
        """Return the output [batch seq width]; `name` is the place of its cache."""


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


@dataclass
class DecodingContext:
    """The source, the padding of the target, and the caches of a decoding that is under way."""

    source: Source | None = None
    padding_mask: PaddingMask = None
    """Of the target, in training; a target that is decoded has no padding."""
    caches: dict[str, Cached] | None = None
    """By place; None: the whole target is read in one pass."""
    source_places: set[str] = field(default_factory=set)
    """The caches that hold the source alone, equal for all hypotheses of a sentence."""

    def reading(self, sublayer: nn.Module, name: str) -> Callable[[Tensor], Tensor]:
        """Return a sublayer as a function of its input alone; `name` is the place of its cache."""
        return lambda x: self.read(sublayer, x, name)

    def read(self, sublayer: nn.Module, x: Float[Tensor, "batch new width"], name: str) -> Tensor:
        """Return the output of a sublayer at the new positions [batch new width]."""
        if isinstance(sublayer, ReadsContext):
            return sublayer.read(x, self, name)
        if self.caches is None or isinstance(sublayer, Positionwise):
            output: Tensor = sublayer(x, self.padding_mask)
            return output
        if isinstance(sublayer, Incremental):
            extended, self.caches[name] = sublayer.extend(x, self.caches.get(name))
            return extended
        inputs = torch.cat([*self.caches.get(name, ()), x], 1)
        self.caches[name] = (inputs,)
        whole: Tensor = sublayer(inputs, None)
        return whole[:, -x.shape[1] :]

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Continue with other rows: each new row has the cache of the row that is named for it, of the same sentence.

        Caches of the source are equal within a sentence and stay.
        """
        assert self.caches is not None
        for name, cached in self.caches.items():
            if name not in self.source_places:
                self.caches[name] = tuple(tensor.index_select(0, rows) for tensor in cached)
