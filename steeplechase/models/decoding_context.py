"""What the sublayers of a decoder read beside their input: the encoded source, and the padding of the target."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor, nn

from steeplechase.models.convolution import PaddingMask


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
    """The context of one pass over a whole target; `steeplechase.models.continuation` reads it token by token."""

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
