"""The interval of a proportion, and the exact test of two, in plain Python.

Wilson 1927, J. Am. Stat. Assoc. 22, 209; Fisher 1922, J. R. Stat. Soc. 85, 87.
"""

from math import comb

from steeplechase.analysis.difference import ALPHA

Z = 1.959963984540054  # encloses 95% of a normal distribution on both sides


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95% interval of the proportion `count` / `total`, for `total` ≥ 1."""
    rate, square = count / total, Z * Z / total
    middle = rate + square / 2
    half_width = Z * (rate * (1 - rate) / total + square / total / 4) ** 0.5
    low, high = ((middle + sign * half_width) / (1 + square) for sign in (-1, 1))
    return (0.0 if count == 0 else low), (1.0 if count == total else high)


def unseen_at_most(total: int) -> float:
    """Return the largest share of runs that may end in a way which none of `total` runs did, at 95%: one-sided."""
    return float(1.0 - ALPHA ** (1 / total)) if total else 1.0


def smallest_fisher_p(together: int, of_first: int, of_second: int) -> float:
    """Return the smallest p that Fisher's test has with so many successes in all, however they are shared out."""
    fewest, most = max(0, together - of_second), min(together, of_first)
    return min(fisher_p(first, of_first, together - first, of_second) for first in (fewest, most))


def fisher_tails(one: tuple[int, int], other: tuple[int, int]) -> tuple[float, float]:
    """Return the one-sided p of "the first of two proportions is not larger" and "is not smaller": Fisher's test."""
    (first, of_first), (second, of_second) = one, other
    ways = _ways(first + second, of_first, of_second)
    return sum(ways[first:]) / sum(ways), sum(ways[: first + 1]) / sum(ways)


def fisher_p(first: int, of_first: int, second: int, of_second: int) -> float:
    """Return the two-sided p of equal proportions `first` / `of_first` and `second` / `of_second`: Fisher's test."""
    ways = _ways(first + second, of_first, of_second)
    return sum(each for each in ways if each <= ways[first]) / sum(ways)


def _ways(together: int, of_first: int, of_second: int) -> list[int]:
    """Return in how many ways 0, 1, … of so many successes are the first's: the hypergeometric distribution."""
    return [comb(of_first, k) * comb(of_second, together - k) for k in range(together + 1)]
