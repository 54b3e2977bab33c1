"""Designs over named changes: a list of arms, and components, which are present in an arm or not."""

from collections.abc import Iterator, Mapping
from math import factorial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from search_space.candidate import Candidate
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.designs.point import ARMS_AT_MOST, Changes, Point, PointDesign
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Name


def _not_reserved(name: str) -> str:
    if name == BASELINE:
        raise ValueError(f"the name {BASELINE} is reserved for the baseline")
    return name


ArmName = Annotated[Name, AfterValidator(_not_reserved)]


class ListDesign(PointDesign):
    """Named arms in the order of the table; the baseline is always first."""

    kind: Literal["list"] = "list"
    """Chooses a list of named arms."""
    arms: Mapping[ArmName, Mapping[str, Any]] = Field(min_length=1, examples=[{"narrow": {"bottleneck_ratio": 2}}])
    """By the arm's name, its changes from the baseline by path."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of arms without the baseline."""
        return len(self.arms)

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield every arm; a list has no factors."""
        for name, changes in self.arms.items():
            yield Point(name, changes, ("arms", name))


Components = Annotated[
    Mapping[ArmName, Mapping[str, Any]],
    Field(min_length=1, examples=[{"bottleneck": {"bottleneck_ratio": 2}, "groups": {"feed_forward_groups": 2}}]),
]


class ComponentDesign(PointDesign):
    """A design over components, each with the changes that add it to the baseline."""

    components: Components
    """By name, in order: the changes that add a component to the baseline."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of components."""
        return len(self.components)

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield components without changes."""
        for name, changes in self.components.items():
            if not changes:
                yield Violation(("components", name), f"{name} changes nothing")

    def together(self, names: tuple[str, ...]) -> Changes:
        """Return the changes that add the named components; later components override earlier ones."""
        return {
            path: value for name in self.components if name in names for path, value in self.components[name].items()
        }

    def present_or_not(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return, by component, whether it is among the names."""
        return {name: name in names for name in self.components}


def set_twice(components: Components) -> Iterator[Violation]:
    """Yield the paths that two components set: leaving one out would then also change the other."""
    owners: dict[str, str] = {}
    for name, changes in components.items():
        for path in changes:
            owner = owners.setdefault(path, name)
            if owner != name:
                message = f"{path} is set by {owner} already; leaving one of them out would be ambiguous"
                yield Violation(("components", name, path), message)


def fewer_than_two(components: Components) -> Iterator[Violation]:
    """Yield a violation unless there are at least two components."""
    if len(components) < 2:
        yield Violation(("components",), "1 component; at least 2 are needed")


FULL = "full"


class LeaveOneOut(ComponentDesign):
    """Components a and b on a baseline without them give four rows: baseline, `full`, `without_a`, `without_b`."""

    kind: Literal["leave_one_out"] = "leave_one_out"
    """Chooses the full model, and the full model without each component in turn."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of components plus one."""
        return len(self.components) + 1

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the full model, then the full model without each component."""
        everything = tuple(self.components)
        yield Point(FULL, self.together(everything), ("components",), self.present_or_not(everything))
        for name in everything:
            rest = tuple(other for other in everything if other != name)
            location = ("components", name)
            yield Point(f"without_{name}", self.together(rest), location, self.present_or_not(rest))

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield a single component, components without changes, and paths that two components set."""
        yield from fewer_than_two(self.components)
        yield from super().own_violations(baseline)
        yield from set_twice(self.components)


class KeepOne(ComponentDesign):
    """Components a and b give three rows: baseline, `only_a`, `only_b`."""

    kind: Literal["keep_one"] = "keep_one"
    """Chooses the baseline with each component alone."""

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the baseline with each component alone."""
        for name, changes in self.components.items():
            yield Point(f"only_{name}", changes, ("components", name), self.present_or_not((name,)))

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield a single component, and components without changes."""
        yield from fewer_than_two(self.components)
        yield from super().own_violations(baseline)


class Ladder(ComponentDesign):
    """Components a and b give three rows: baseline, `+a`, and `+b`, which also has a.

    A later component may override a value of an earlier one.

    ConvBERT Table 1, arXiv 2008.02496.
    """

    kind: Literal["ladder"] = "ladder"
    """Chooses an incremental ablation: one more component per row."""

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the arms in the order of the components."""
        names = tuple(self.components)
        for count, name in enumerate(names, 1):
            added = names[:count]
            yield Point(f"+{name}", self.together(added), ("components", name), self.present_or_not(added))


if TYPE_CHECKING:
    from steeplechase.analysis.shapley import ShapleyWeights


ORDERS_AT_LEAST = 6
"""Of fewer orders the 95% intervals hold less often than 93%."""


class Coalitions(ComponentDesign):
    """Components a, b and c give every set of them: `a`, `b`, `c`, `a+b`, `a+c`, `b+c` and `a+b+c`.

    With `orders: 6` only the sets along six random orders, such as c, c+a, c+a+e and so on of components a to e.

    For Shapley values, which average over the orders of adding components (Shapley 1953). The sets along random
    orders need at most n rows per order (Castro, Gomez and Tejada 2009, Computers & Operations Research 36, 1726);
    the report's intervals then contain the spread between orders.
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
        yield from super().own_violations(baseline)
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
