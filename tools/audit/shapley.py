"""Shapley values of components, over all orders of adding them or over a design's random ones."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean, variance

from tools.audit.component_sets import Components, arms_by_components, orders_of
from tools.audit.contrasts import Weights, factorial_of
from tools.audit.exports import Row
from tools.audit.inference import Estimate
from tools.audit.rule import Published, Rule
from tools.audit.study import Study

WHOLE = "all changes together"
Orders = list[Weights]
"""A component's weights in every order that was drawn; one element over all orders."""


def shapley(study: Study, _: Published) -> Iterator[Row]:
    """Yield each component's value, and their sum; shares of a sum that is not 0."""
    values, ends = _over_all_orders(study) or _over_random_orders(study)
    arms = {arm for orders in values.values() for weights in orders for arm in weights}
    for metric in study.metrics if values else ():
        whole = study.interval(study.contrast(ends, metric), *ends)
        decided = whole["low"] is not None and (whole["low"] > 0 or whole["high"] < 0)
        for name, orders in values.items():
            found = study.interval(_value(study, orders, metric), *arms)
            yield {
                "factor": name,
                "metric": metric,
                **found,
                "share": found["delta"] / whole["delta"] if decided else None,
            }
        yield {"factor": WHOLE, "metric": metric, **whole, "share": 1.0 if decided else None}


def _over_all_orders(study: Study) -> tuple[dict[str, Orders], Weights] | None:
    design = factorial_of(study)
    if design is None or design.missing or any(len(values) != 2 for values in design.values):
        return None
    size = len(design.names)
    values = {}
    for factor in range(size):
        weights: Weights = {}
        for run, arm in design.arms.items():
            before = sum(run) - run[factor]
            part = math.factorial(before) * math.factorial(size - before - 1) / math.factorial(size)
            weights[arm] = part if run[factor] else -part
        values[design.label(factor, 1)] = [weights]
    return values, {design.arms[(1,) * size]: 1.0, design.arms[(0,) * size]: -1.0}


def _over_random_orders(study: Study) -> tuple[dict[str, Orders], Weights]:
    for design in study.export.designs:
        if design.get("kind") == "coalitions" and design.get("orders"):
            arms = {each: arm.name for each, arm in arms_by_components(study, design["components"]).items()}
            chains = [[frozenset(order[:size]) for size in range(len(order) + 1)] for order in orders_of(design)]
            if all(each in arms for chain in chains for each in chain):
                values = {name: [_step(name, chain, arms) for chain in chains] for name in design["components"]}
                return values, {arms[chains[0][-1]]: 1.0, arms[frozenset()]: -1.0}
    return {}, {}


def _step(name: str, chain: Sequence[Components], arms: dict[Components, str]) -> Weights:
    return next(
        {arms[after]: 1.0, arms[before]: -1.0} for before, after in pairwise(chain) if after - before == {name}
    )


def _value(study: Study, orders: Orders, metric: str) -> Estimate:
    """Return a component's value; the variance between random orders is added to that of the seeds."""
    mean: Weights = {}
    for weights in orders:
        for arm, weight in weights.items():
            mean[arm] = mean.get(arm, 0.0) + weight / len(orders)
    found = study.contrast({arm: weight for arm, weight in mean.items() if weight}, metric)
    if len(orders) == 1 or not found.error > 0:
        return found
    means = {arm: fmean(study.of(arm, metric).values()) for weights in orders for arm in weights}
    steps = [sum(weight * means[arm] for arm, weight in weights.items()) for weights in orders]
    between = variance(steps) / len(orders)
    total = found.error**2 + between
    degrees = total**2 / (found.error**4 / found.degrees + between**2 / (len(orders) - 1))
    return Estimate(found.value, math.sqrt(total), degrees, found.n)


def contributions(study: Study, published: Published) -> Iterator[Row]:
    """Yield the same for the figure, which has the headline metrics alone."""
    return (row for row in shapley(study, published) if row["metric"] in study.headlines)


RULES = {"shapley": Rule(("factor", "metric"), shapley), "contributions": Rule(("factor", "metric"), contributions)}
