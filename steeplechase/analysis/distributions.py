"""Student's t, beta and chi-squared for any real degrees of freedom, elementwise over arrays.

The one module of `analysis/` that imports scipy, and of it `scipy.special` alone, on first use, because the import
takes a third of a second and `plan` and hurdles do not need it. NaN in, NaN out.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steeplechase.analysis.shapes import Float

Values = Float[np.ndarray, "*cells"]


@cache
def _special() -> Any:
    from scipy import special

    return special


def t_p(t: ArrayLike, degrees: ArrayLike) -> Values:
    """Return the two-sided p of a t value: the probability outside plus and minus `t`."""
    return np.asarray(2 * _special().stdtr(degrees, -np.abs(t)))


def t_upper(t: ArrayLike, degrees: ArrayLike) -> Values:
    """Return the probability that a t variable exceeds `t`."""
    return np.asarray(_special().stdtr(degrees, np.negative(t)))


def t_below(t: ArrayLike, degrees: ArrayLike) -> Values:
    """Return the probability that a t variable lies below `t`."""
    return np.asarray(_special().stdtr(degrees, t))


def t_quantile(p: ArrayLike, degrees: ArrayLike) -> Values:
    """Return the t with the two-sided p: infinite for p = 0, 0 for p = 1."""
    return np.asarray(np.abs(_special().stdtrit(degrees, np.asarray(p, dtype=np.float64) / 2)))


def beta_quantile(share: ArrayLike, first: ArrayLike, second: ArrayLike) -> Values:
    """Return the value below which a beta variable lies with a probability."""
    return np.asarray(_special().betaincinv(first, second, share))


def chi_squared_quantile(share: ArrayLike, degrees: ArrayLike) -> Values:
    """Return the value below which a chi-squared variable lies with a probability below 1."""
    return np.asarray(_special().chdtri(degrees, np.subtract(1.0, share)))


def chi_squared_below(value: ArrayLike, degrees: ArrayLike) -> Values:
    """Return the probability that a chi-squared variable lies below a value."""
    return np.asarray(_special().chdtr(degrees, value))
