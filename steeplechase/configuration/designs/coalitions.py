"""Coalitions: sets of components, for Shapley values, which average over the orders of adding them (Shapley 1953).

Every set of components needs 2^n rows. The sets along random orders need at most n rows per order (Castro, Gomez and
Tejada 2009, Computers & Operations Research 36, 1726); the report's intervals then contain the spread between orders.
"""

from collections.abc import Iterator
from math import factorial
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from search_space.candidate import Candidate
from steeplechase.configuration.designs.components import ComponentDesign, fewer_than_two, set_twice, without_changes
from steeplechase.configuration.designs.point import ARMS_AT_MOST, Point
from steeplechase.foundation.errors import Violation

if TYPE_CHECKING:
    from steeplechase.analysis.shapley import ShapleyWeights


ORDERS_AT_LEAST = 6
"""Of fewer orders the 95% intervals hold less often than 93%."""


class Coalitions(ComponentDesign):
    """Components a, b and c give every set of them: `a`, `b`, `c`, `a+b`, `a+c`, `b+c` and `a+b+c`.

    With `orders: 6` only the sets along six random orders, such as c, c+a, c+a+e and so on of components a to e.
    """

    kind: Literal["coalitions"] = "coalitions"
    """Chooses sets of components."""
    orders: int | None = Field(default=None, ge=ORDERS_AT_LEAST, le=ARMS_AT_MOST, examples=[8])
    """Number of random orders of adding the components, where every set is too many; null: all orders, every set."""
    seed: int = Field(default=1, ge=0)
    """Draws the orders."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of sets that are not empty; with orders, the most that these can need."""
        components = len(self.components)
        every = (1 << components) - 1
        return every if self.orders is None else min(every, self.orders * (components - 1) + 1)

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the sets by size, each with its components in the order of their declaration."""
        for coalition in self.weights.coalitions:
            names = tuple(name for name in self.components if name in coalition)
            if names:
                yield Point("+".join(names), self.together(names), ("components",), self.present_or_not(names))

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield a single component, components without changes, paths set twice, and more orders than there are."""
        yield from fewer_than_two(self.components)
        yield from without_changes(self.components, baseline)
        yield from set_twice(self.components)
        every = factorial(len(self.components))
        if self.orders is not None and self.orders >= every:
            has = f"{len(self.components)} components have {every:,} orders"
            message = f"{self.orders}; {has}. Leave it out: every set is an arm"
            yield Violation(("orders",), message)

    def notes(self) -> Iterator[str]:
        """Yield how many of the orders and sets are drawn."""
        if self.orders is not None:
            components = len(self.components)
            sets = len(self.weights.coalitions) - 1
            yield f"{self.orders} of {factorial(components):,} orders, {sets} of {(1 << components) - 1:,} sets"

    @property
    def weights(self) -> "ShapleyWeights":
        """The weight of every set in every component's Shapley value."""
        from steeplechase.analysis.shapley import all_orders, sampled_orders  # here, because scipy takes time to load

        names = tuple(self.components)
        return all_orders(names) if self.orders is None else sampled_orders(names, self.orders, self.seed)
