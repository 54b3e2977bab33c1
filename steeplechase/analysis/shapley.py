"""Shapley values of components: what each one is worth, averaged over all orders in which they can be added.

Shapley 1953, "A Value for n-Person Games"; sampled orders after Castro, Gomez and Tejada 2009, Computers & Operations
Research 36, 1726. The value of a coalition is the metric of the arm that has these components and no others. Shapley
values are weighted sums of arm means, so that intervals over seeds are those of `welch.contrasts`. They add up to the
difference between the arm with all components and the one with none; where components do not interact, each is the
component's own effect.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import comb, factorial

import numpy as np

from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.shapes import Float
from steeplechase.foundation.randomness import stream

Coalition = frozenset[str]


@dataclass(frozen=True)
class ShapleyWeights:
    """The weight of every coalition in every component's value; by order added where orders were sampled."""

    components: tuple[str, ...]
    coalitions: tuple[Coalition, ...]
    weights: Float[np.ndarray, "components coalitions"]
    by_order: Float[np.ndarray, "orders components coalitions"] | None = None
    """None where all orders are averaged over."""


def all_orders(components: Sequence[str]) -> ShapleyWeights:
    """Return the weights over a full factorial: every set of components is an arm."""
    subsets = chain.from_iterable(combinations(components, size) for size in range(len(components) + 1))
    coalitions = tuple(map(frozenset, subsets))
    most = len(components) - 1
    weights = [
        [
            1 / (len(components) * comb(most, len(each) - 1))
            if one in each
            else -1 / (len(components) * comb(most, len(each)))
            for each in coalitions
        ]
        for one in components
    ]
    return ShapleyWeights(tuple(components), coalitions, np.array(weights).reshape(len(components), len(coalitions)))


def sampled_orders(components: Sequence[str], orders: int, seed: int = 0) -> ShapleyWeights:
    """Return the weights over distinct random orders, over all of them where there are no more than that.

    The coalitions are the arms that these orders need.
    """
    if orders >= factorial(len(components)):
        return all_orders(components)
    random = stream(seed, "orders of components", len(components), orders)
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < orders:
        drawn.add(tuple(random.permutation(len(components)).tolist()))
    return of_orders(components, [[components[place] for place in order] for order in sorted(drawn)])


def of_orders(components: Sequence[str], orders: Iterable[Sequence[str]]) -> ShapleyWeights:
    """Return the weights over given orders of all components."""
    steps = [
        {one: (frozenset(order[: place + 1]), frozenset(order[:place])) for place, one in enumerate(order)}
        for order in orders
    ]
    needed = {each for step in steps for pair in step.values() for each in pair}
    coalitions = tuple(sorted(needed, key=lambda each: (len(each), sorted(each))))
    places = {each: place for place, each in enumerate(coalitions)}
    by_order = np.zeros((len(steps), len(components), len(coalitions)))
    for order, step in enumerate(steps):
        for row, one in enumerate(components):
            with_it, without = step[one]
            by_order[order, row, places[with_it]], by_order[order, row, places[without]] = 1.0, -1.0
    return ShapleyWeights(tuple(components), coalitions, by_order.mean(axis=0), by_order)


def over_orders(over_seeds: Estimates, by_order: Float[np.ndarray, "orders components"]) -> Estimates:
    """Return the values over sampled orders, from those with the error of the seeds and those of every order.

    The spread between orders is added to the error. It counts the seeds' part of that spread twice: intervals are on
    the wide side. One order gives no spread, hence NaN.
    """
    orders = len(by_order)
    if orders < 2:
        return Estimates(over_seeds.value, np.full_like(over_seeds.value, np.nan), over_seeds.degrees)
    between = by_order.var(axis=0, ddof=1) / orders
    of_seeds = over_seeds.standard_error**2
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = (of_seeds + between) ** 2 / (of_seeds**2 / over_seeds.degrees + between**2 / (orders - 1))
    return Estimates(over_seeds.value, np.sqrt(of_seeds + between), degrees)
