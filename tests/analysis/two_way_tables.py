"""Tables of seeds by examples, drawn from a two-way model of random effects."""

from dataclasses import dataclass

import numpy as np

from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.two_way_variance import two_way_estimate


@dataclass(frozen=True)
class TwoWayInterval:
    """A mean difference over seeds and examples, with its standard error and 95% interval."""

    difference: float
    standard_error: float
    low: float
    high: float


def drawn(
    seeds: int, examples: int, spreads: tuple[float, float, float], random: np.random.Generator, mean: float = 0.0
) -> np.ndarray:
    """Return values of the model: spreads of seeds, of examples, and residual."""
    of_seed, of_example, residual = spreads
    effects = random.normal(0, of_seed, (seeds, 1)) + random.normal(0, of_example, (1, examples))
    return np.asarray(mean + effects + random.normal(0, residual, (seeds, examples)))


def two_way(values: np.ndarray, others: np.ndarray, paired: bool) -> Estimates:
    """Return values minus others by the two-way analysis of variance."""
    parts = [values - others] if paired else [values, -others]
    return two_way_estimate([part.mean(axis=1) for part in parts], [parts])


def two_way_interval(values: np.ndarray, others: np.ndarray, paired: bool) -> TwoWayInterval:
    """Return the same as an interval at 95%."""
    return interval(two_way(values, others, paired))


def interval(found: Estimates) -> TwoWayInterval:
    """Return the interval at 95% of an estimate of one cell."""
    (low,), (high,) = found.interval()
    return TwoWayInterval(found.value.item(), found.standard_error.item(), float(low), float(high))
