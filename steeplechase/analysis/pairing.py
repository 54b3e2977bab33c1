"""What pairing by seed gains: the variance of paired differences over that of unpaired ones, with its interval.

Arms x seeds without repetition are a two-way layout. If each seed adds its own effect to all arms, values of two arms
at one seed have the intraclass correlation rho, and paired differences have 1 - rho times the variance of unpaired
ones. The interval follows from the exact F of the seeds' mean square over the residual one (Shrout and Fleiss 1979,
Psychological Bulletin 86, 420, ICC(3, 1)) and assumes arms of equal variance.

Which test decides is fixed before there are results: Welch's, unless the design declares paired seeds. Paired t has
n - 1 degrees of freedom in place of up to 2 (n - 1), so it needs a smaller variance to pay for them; to choose the
smaller p, or the test that the observed ratio favours, inflates the error.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from steeplechase.analysis.distributions import f_quantile
from steeplechase.analysis.estimates import ROUNDING


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
