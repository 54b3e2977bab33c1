"""Sets of components and their arms, for Shapley values: all sets of a factorial, or those along random orders."""

from dataclasses import dataclass

from reports.statistics.component_arms import LARGEST, arms_by_components
from reports.statistics.contrasts import Weights
from reports.statistics.crossed import crossed_arms
from reports.statistics.results import Results
from steeplechase.analysis.shapley import ShapleyWeights, all_orders
from steeplechase.configuration.designs import Coalitions


@dataclass(frozen=True)
class CoalitionArms:
    """The arm of every set of components, and the weight of each set in every component's Shapley value."""

    weights: ShapleyWeights
    arms: tuple[str, ...]
    """In the order of the weights' sets."""

    @property
    def orders(self) -> int | None:
        """Number of random orders that the values are averaged over; None for all orders."""
        return None if self.weights.by_order is None else len(self.weights.by_order)

    @property
    def whole(self) -> Weights:
        """The difference between the arm with all components and the one with none."""
        sizes = [len(each) for each in self.weights.coalitions]
        return {self.arms[sizes.index(max(sizes))]: 1.0, self.arms[sizes.index(0)]: -1.0}


def coalition_arms(results: Results) -> CoalitionArms | None:
    """Return the sets of a two-level full factorial, else those along a design's random orders; None without."""
    return _of_factorial(results) or _of_orders(results)


def _of_factorial(results: Results) -> CoalitionArms | None:
    crossed = crossed_arms(results)
    if crossed is None or crossed.design.missing:
        return None
    if not (crossed.design.two_level and crossed.design.full) or len(crossed.design.factors) > LARGEST:
        return None
    names = [levels[1] for levels in crossed.design.level_names]
    arms = {
        frozenset(name for name, level in zip(names, run, strict=True) if level): arm
        for run, arm in crossed.arms.items()
    }
    weights = all_orders(names)
    return CoalitionArms(weights, tuple(arms[each] for each in weights.coalitions))


def _of_orders(results: Results) -> CoalitionArms | None:
    for design in results.experiment.designs:
        if isinstance(design, Coalitions) and design.orders is not None:
            weights = design.weights
            arms = arms_by_components(results, design, weights.coalitions)
            if len(arms) == len(weights.coalitions):
                return CoalitionArms(weights, tuple(arm.name for arm in arms.values()))
    return None
