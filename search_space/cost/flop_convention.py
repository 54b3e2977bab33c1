"""A counting convention: what each kind of operation costs, and how a whole pass and an update are made of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from search_space.cost.component import Component
from search_space.cost.operation_counts import Operations


class KnownMiscount(Protocol):
    """What a published count adds to the prices, or forgets, on one token of one copy of a part."""

    def __call__(self, part: Component, length: int) -> int:
        """Return the operations, negative where too few are counted."""


def no_slip(part: Component, length: int) -> int:
    """Return nothing: the prices are all there is."""
    return 0


@dataclass(frozen=True)
class Convention:
    """A named way of counting."""

    name: str
    rule: str
    """In one line, for the foot of a table."""
    prices: Operations
    training_passes: int
    """Forward passes that one update costs, the forward one included."""
    predicted_share: Fraction | None = None
    """Share of the tokens that reach the output softmax; None for those that the objective predicts."""
    slip: KnownMiscount = no_slip

    def part_flops(self, part: Component, length: int, predictions: int = 0) -> int:
        """Return the operations of all copies of a part on one sequence of `length` tokens."""
        once = part.operations.priced(self.prices) + self.slip(part, length)
        if not part.of_predicted_tokens:
            return part.copies * length * once
        predicted = predictions if self.predicted_share is None else self.predicted_share * length
        return int(part.copies * predicted * once)

    def flops(self, parts: Iterable[Component], length: int, predictions: int = 0) -> int:
        """Return the operations of one forward pass over one sequence of `length` tokens."""
        return sum(self.part_flops(part, length, predictions) for part in parts)
