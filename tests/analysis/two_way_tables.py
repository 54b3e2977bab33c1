"""Tables of seeds by examples, drawn from a two-way model of random effects, and the multi-bootstrap as an oracle."""

from dataclasses import dataclass

import numpy as np

from analysis.estimates import Estimates
from analysis.two_way_variance import two_way_estimate


@dataclass(frozen=True)
class TwoWayInterval:
    """A mean difference over seeds and examples, with its standard error and 95% interval."""

    difference: float
    standard_error: float
    low: float
    high: float


def multi_bootstrap(values: np.ndarray, others: np.ndarray, paired: bool, resamples: int) -> TwoWayInterval:
    """Return the percentile interval with seeds and examples resampled (Sellam et al. 2021, arXiv 2106.16163)."""
    random, samples = np.random.default_rng(0), [values - others] if paired else [values, -others]
    means = np.zeros(resamples)
    columns = random.integers(values.shape[1], size=(resamples, values.shape[1]))
    for sample in samples:
        rows = random.integers(len(sample), size=(resamples, len(sample)))
        shares = (rows[:, :, None] == np.arange(len(sample))).mean(axis=1)
        means += np.take_along_axis(shares @ sample, columns, axis=1).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return TwoWayInterval(values.mean() - others.mean(), float(means.std(ddof=1)), float(low), float(high))


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
