"""Spread over seeds: components of variance of pretraining and fine-tuning seeds, and what pairing by seed gains.

Pretraining seeds are the replicates, fine-tuning seeds are nested in them. MultiBERTs (Sellam et al. 2021, arXiv
2106.16163): further fine-tuning runs of one pretrained model are not replicates of pretraining, so intervals are over
pretraining seeds. Head, order and dropout of a fine-tuning are drawn from both seeds, so the values within a
pretraining seed are independent draws, and the intervals include their variance.

Pairing: arms x seeds without repetition are a two-way layout. If each seed adds its own effect to all arms, values of
two arms at one seed have the intraclass correlation rho, and paired differences have 1 - rho times the variance of
unpaired ones. The interval follows from the exact F of the seeds' mean square over the residual one (Shrout and
Fleiss 1979, Psychological Bulletin 86, 420, ICC(3, 1)) and assumes arms of equal variance.

Which test decides is fixed before there are results: Welch's, unless the design declares paired seeds. Paired t has
n - 1 degrees of freedom in place of up to 2 (n - 1), so it needs a smaller variance to pay for them; to choose the
smaller p, or the test that the observed ratio favours, inflates the error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, harmonic_mean, variance

import numpy as np
from jaxtyping import Float

from steeplechase.analysis.distributions import f_quantile
from steeplechase.analysis.estimates import ROUNDING

NestedValues = Mapping[int, Sequence[float]]
"""By pretraining seed, one value per fine-tuning seed."""


@dataclass(frozen=True)
class Spread:
    """Standard deviations over pretraining seeds and, within each, over fine-tuning seeds; None where unknown."""

    pretraining: float | None
    fine_tuning: float | None


def spread_of(samples: Sequence[NestedValues]) -> Spread:
    """Return the components of variance, pooled over arms: a one-way analysis of variance within each arm.

    The variance of a pretraining seed's mean is its own component plus the fine-tuning variance divided by the
    number of values; the latter is subtracted, and a negative result is set to 0. Where seeds have different numbers
    of values, variances are pooled by degrees of freedom and the number is the harmonic mean.
    """
    several = [values for sample in samples for values in sample.values() if len(values) > 1]
    compared = [sample for sample in samples if len(sample) > 1]
    means = [[fmean(values) for values in sample.values()] for sample in compared]
    fine_tuning = fmean(map(variance, several), [len(values) - 1 for values in several]) if several else None
    if not means:
        return Spread(None, None if fine_tuning is None else fine_tuning**0.5)
    degrees = [len(of_arm) - 1 for of_arm in means]
    total = sum(map(lambda of_arm, free: variance(of_arm) * free, means, degrees)) / sum(degrees)
    sizes = [harmonic_mean(map(len, sample.values())) for sample in compared]
    nested = 0.0 if fine_tuning is None else fine_tuning / harmonic_mean(sizes, degrees)
    return Spread(max(0.0, total - nested) ** 0.5, None if fine_tuning is None else fine_tuning**0.5)


@dataclass(frozen=True)
class PairingGain:
    """The ratio of variances, paired over unpaired, with its interval; below 1 pairing helps."""

    ratio: float
    low: float
    high: float
    arms: int
    seeds: int


def pairing_gain(values: Float[np.ndarray, "arms seeds"], alpha: float = 0.05) -> PairingGain | None:
    """Return the gain over the seeds that all arms have; None below two arms or seeds, or if no seeds vary."""
    whole = values[:, ~np.isnan(values).any(axis=0)]
    arms, seeds = whole.shape
    if arms < 2 or seeds < 2 or np.ptp(whole, axis=1).max() <= ROUNDING * np.abs(whole).max():
        return None
    ratio = float(variance_ratio(whole))
    if ratio <= ROUNDING:
        return PairingGain(0.0, 0.0, 0.0, arms, seeds)
    f = arms / ratio - arms + 1  # the mean squares' ratio is (1 + (arms - 1) rho) / (1 - rho)
    bounds = f_quantile([alpha / 2, 1 - alpha / 2], seeds - 1, (seeds - 1) * (arms - 1))
    low, high = (arms / (f / float(bound) + arms - 1) for bound in bounds)
    return PairingGain(ratio, low, high, arms, seeds)


def variance_ratio(values: Float[np.ndarray, "*tables arms seeds"]) -> Float[np.ndarray, "*tables"]:
    """Return the variance of paired differences over that of unpaired ones, pooled over all pairs of arms."""
    arms = values.shape[-2]
    within = values.var(axis=-1, ddof=1).mean(axis=-1)
    of_means = arms * values.mean(axis=-2).var(axis=-1, ddof=1)  # the seeds' mean square
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((arms * within - of_means) / (arms - 1) / within)
