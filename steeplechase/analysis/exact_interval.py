"""The exact confidence interval of a proportion: Clopper and Pearson 1934, Biometrika 26, 404."""

from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.distributions import beta_quantile


def clopper_pearson(count: int, total: int) -> tuple[float, float]:
    """Return the exact 95% interval of the proportion `count` / `total`, for `total` ≥ 1."""
    low = 0.0 if count == 0 else beta_quantile(ALPHA / 2, count, total - count + 1).item()
    high = 1.0 if count == total else beta_quantile(1 - ALPHA / 2, count + 1, total - count).item()
    return low, high
