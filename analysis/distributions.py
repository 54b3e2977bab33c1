"""Student's t, F and chi-squared for any real degrees of freedom, elementwise over arrays.

Tails and quantiles come from the regularised incomplete beta function (continued fraction, DLMF 8.17.22, evaluated by
Lentz's method) and the incomplete gamma function (series, DLMF 8.7.1). analysis/ imports no scipy, the oracle in the
tests; `students_t` has the closed form for whole degrees. NaN in, NaN out.
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

Values = Float[np.ndarray, "*cells"]
PRECISION = 1e-14
"""Relative change of a term at which continued fractions and series stop."""
TERMS = 5000
"""Most terms of one: enough for a hundred million degrees of freedom."""
STEPS = 200
"""Most steps to a quantile; about eight are taken."""
TINY = 1e-300
LOWEST = -700.0
"""Logarithm of the smallest quantile."""
MOST_DEVIATIONS = 40.0

Function = Callable[[Values], Values]
Slope = Callable[[Values, Values], Values]

_log_gamma = np.frompyfunc(math.lgamma, 1, 1)


def t_p(t: ArrayLike, degrees: ArrayLike) -> Values:
    """Return the two-sided p of a t value: the probability outside plus and minus `t`."""
    values, free = np.broadcast_arrays(_array(t), _array(degrees))
    with np.errstate(invalid="ignore", over="ignore"):
        return beta_share(free / (free + values * values), free / 2, np.full_like(free, 0.5))


def t_upper(t: ArrayLike, degrees: ArrayLike) -> Values:
    """Return the probability that a t variable exceeds `t`."""
    half = t_p(t, degrees) / 2
    return np.asarray(np.where(_array(t) < 0, 1 - half, half))


def t_quantile(p: ArrayLike, degrees: ArrayLike) -> Values:
    """Return the t with the two-sided p: infinite for p = 0, 0 for p = 1."""
    outside, free = np.broadcast_arrays(_array(p), _array(degrees))
    share = beta_quantile(outside, free / 2, np.full_like(free, 0.5))
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(free * (1 - share) / share))


def f_quantile(share: ArrayLike, numerator: ArrayLike, denominator: ArrayLike) -> Values:
    """Return the value below which an F variable lies with a probability."""
    below, first, second = np.broadcast_arrays(_array(share), _array(numerator), _array(denominator))
    beta = beta_quantile(below, first / 2, second / 2)
    with np.errstate(divide="ignore"):
        return np.asarray(second * beta / (first * (1 - beta)))


def chi_squared_quantile(share: ArrayLike, degrees: ArrayLike) -> Values:
    """Return the value below which a chi-squared variable lies with a probability below 1."""
    below, shape = np.broadcast_arrays(_array(share), _array(degrees) / 2)

    def slope(x: Values, found: Values) -> Values:
        return np.asarray(np.exp(shape * np.log(x) - x - _gamma(shape)) / found)

    return np.asarray(
        2 * _inverse(lambda x: gamma_share(x, shape), slope, below, shape, MOST_DEVIATIONS * (1 + shape))
    )


def beta_share(x: Values, a: Values, b: Values) -> Values:
    """Return the regularised incomplete beta function, for `a` and `b` above 0. DLMF 8.17."""
    x, a, b = np.broadcast_arrays(_array(x), _array(a), _array(b))
    turned = x > (a + 1) / (a + b + 2)  # the fraction converges fast below the mean; above, by symmetry
    x, a, b = np.where(turned, 1 - x, x), np.where(turned, b, a), np.where(turned, a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.exp(_gamma(a + b) - _gamma(a) - _gamma(b) + a * np.log(x) + b * np.log1p(-x)) / a
    share = np.clip(scale * _beta_fraction(x, a, b), 0, 1)
    return np.asarray(np.where(turned, 1 - share, share))


def beta_quantile(share: Values, a: Values, b: Values) -> Values:
    """Return the x at which the regularised incomplete beta function is a share."""
    turned = share > 0.5
    share, a, b = np.where(turned, 1 - share, share), np.where(turned, b, a), np.where(turned, a, b)
    scale = _gamma(a + b) - _gamma(a) - _gamma(b)

    def slope(x: Values, found: Values) -> Values:
        return np.asarray(np.exp(scale + a * np.log(x) + (b - 1) * np.log1p(-x)) / found)

    x = _inverse(lambda x: beta_share(x, a, b), slope, share, a / (a + b), np.ones_like(a))
    return np.asarray(np.where(turned, 1 - x, x))


def gamma_share(x: Values, shape: Values) -> Values:
    """Return the regularised lower incomplete gamma function. DLMF 8.7.1."""
    term = 1 / shape
    total = term
    for step in range(1, TERMS):
        term = term * x / (shape + step)
        total = total + term
        if not np.any(term > PRECISION * total):
            break
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip(total * np.exp(shape * np.log(x) - x - _gamma(shape)), 0, 1))


def _beta_fraction(x: Values, a: Values, b: Values) -> Values:
    """Return the continued fraction of the incomplete beta function by the modified method of Lentz."""
    numerator = np.ones_like(x)
    denominator = 1 / _off_zero(1 - (a + b) * x / (a + 1))
    result = denominator
    for m in range(1, TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            denominator = 1 / _off_zero(1 + term * denominator)
            numerator = _off_zero(1 + term / numerator)
            change = numerator * denominator
            result = result * change
        if not np.any(np.abs(change - 1) > PRECISION):
            break
    return np.asarray(result)


def _inverse(function: Function, slope: Slope, share: Values, start: Values, most: Values) -> Values:
    """Return the x up to `most` at which an increasing function has a share; 0 for a share of 0, NaN for NaN.

    Newton's method on logarithms, between which the lower tail is a straight line, kept inside the bracket so far by
    halving it; `slope` is the derivative of log function by log x.
    """
    low, high, u = np.full_like(most, LOWEST), np.log(most), np.log(start)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        target = np.log(share)
        for _ in range(STEPS):
            x = np.exp(u)
            found = function(x)
            excess = np.log(found) - target
            low, high = np.where(excess < 0, u, low), np.where(excess >= 0, u, high)
            step = u - excess / slope(x, found)
            step = np.where((step >= low) & (step <= high), step, (low + high) / 2)
            moved, u = np.abs(step - u), step
            if not np.any(moved > 1e-12 * np.maximum(1.0, np.abs(u))):
                break
    return np.asarray(
        np.where(share <= 0, np.where(share < 0, np.nan, 0.0), np.where(np.isnan(share), np.nan, np.exp(u)))
    )


def _gamma(x: Values) -> Values:
    """Return the logarithm of the gamma function."""
    if x.size and np.all(x == x.flat[0]):
        return np.full(x.shape, math.lgamma(x.flat[0]))
    return np.asarray(_log_gamma(x), dtype=np.float64)


def _off_zero(x: Values) -> Values:
    return np.asarray(np.where(np.abs(x) < TINY, TINY, x))


def _array(values: ArrayLike) -> Values:
    return np.asarray(values, dtype=np.float64)
