"""A FLOP convention: the FLOPs of each kind of operation, and the forward passes that an update costs."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from search_space.cost.component import Component
from search_space.cost.operation_counts import Operations


class KnownMiscount(Protocol):
    """Correction that reproduces a known miscount of a published FLOP script, per token and copy of a component."""

    def __call__(self, part: Component, length: int) -> int:
        """Return the FLOPs counted in excess; negative for FLOPs that the script misses."""


def no_miscount(part: Component, length: int) -> int:
    """Return 0: the convention counts exactly."""
    return 0


@dataclass(frozen=True)
class Convention:
    """A named FLOP convention."""

    name: str
    rule: str
    """One line, for the footnote of a table."""
    prices: Operations
    training_passes: int
    """Forward passes that one update costs, the forward one included."""
    predicted_share: Fraction | None = None
    """Share of the tokens that enter the output softmax; None: the positions that the objective predicts."""
    miscount: KnownMiscount = no_miscount

    def part_flops(self, part: Component, length: int, predictions: int = 0) -> int:
        """Return the FLOPs of all copies of a component on one sequence of `length` tokens."""
        once = part.operations.priced(self.prices) + self.miscount(part, length)
        if part.applied_to != "prediction":
            return part.copies * once * (length if part.applied_to == "token" else 1)
        predicted = predictions if self.predicted_share is None else self.predicted_share * length
        return int(part.copies * predicted * once)

    def flops(self, parts: Iterable[Component], length: int, predictions: int = 0) -> int:
        """Return the FLOPs of one forward pass over one sequence of `length` tokens."""
        return sum(self.part_flops(part, length, predictions) for part in parts)
