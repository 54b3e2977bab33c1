"""Confidence interval of a proportion. Wilson 1927, J. Am. Stat. Assoc. 22, 209."""

Z = 1.959963984540054  # encloses 95% of a normal distribution on both sides


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95% interval of the proportion `count` / `total`, for `total` ≥ 1."""
    rate, square = count / total, Z * Z / total
    middle = rate + square / 2
    half_width = Z * (rate * (1 - rate) / total + square / total / 4) ** 0.5
    low, high = ((middle + sign * half_width) / (1 + square) for sign in (-1, 1))
    return (0.0 if count == 0 else low), (1.0 if count == total else high)
