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

from analysis.distributions import f_quantile
from analysis.estimates import ROUNDING


@dataclass(frozen=True)
class PairingGain:
    """The ratio of variances, paired over unpaired, with its interval; below 1 pairing helps."""

    ratio: float
    low: float
    high: float
    arms: int
    seeds: int


def pairing_gain(values: Float[np.ndarray, "arms seeds"], alpha: float = 0.05) -> PairingGain | None:
    """Return the gain over the seeds that all arms have; None below two arms or seeds, or without spread."""
    whole = values[:, ~np.isnan(values).any(axis=0)]
    arms, seeds = whole.shape
    if arms < 2 or seeds < 2 or np.ptp(whole) <= ROUNDING * np.abs(whole).max():
        return None
    free = seeds - 1, (seeds - 1) * (arms - 1)
    by_seed = whole.mean(axis=0)
    residuals = whole - whole.mean(axis=1, keepdims=True) - by_seed + whole.mean()
    of_seeds = arms * np.var(by_seed, ddof=1)
    of_residuals = (residuals**2).sum() / free[1]
    if of_residuals <= (ROUNDING * np.abs(whole).max()) ** 2:
        return PairingGain(0.0, 0.0, 0.0, arms, seeds)
    f = float(of_seeds / of_residuals)
    bounds = f_quantile([1 - alpha / 2, alpha / 2], *free)
    low, high = (_ratio(f / float(bound), arms) for bound in reversed(bounds))
    return PairingGain(_ratio(f, arms), low, high, arms, seeds)


def _ratio(f: float, arms: int) -> float:
    """Return 1 - rho for a ratio of mean squares, (1 + (arms - 1) rho) / (1 - rho)."""
    return arms / (f + arms - 1)
