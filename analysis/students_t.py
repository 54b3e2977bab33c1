"""Student's t for whole degrees of freedom, in closed form. Abramowitz and Stegun 1964, equations 26.7.3 and 26.7.4.

scipy is the oracle in the tests, but its import takes a third of the second that a report may take.
"""

import math
from functools import cache

BISECTIONS = 200  # enough for double precision


def below(t: float, degrees: int) -> float:
    """Return the probability that a t variable lies below `t`."""
    return 0.5 + math.copysign(central_share(abs(t), degrees) / 2, t)


def central_share(t: float, degrees: int) -> float:
    """Return the probability that a t variable lies within plus and minus `t`."""
    if math.isinf(t):
        return 1.0
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = term if degrees > 1 else 0.0
    for step in range(2 + odd, degrees - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


@cache
def two_sided_quantile(share: float, degrees: int) -> float:
    """Return the t that encloses a share of the distribution on both sides of 0."""
    low, high = 0.0, 1.0
    while central_share(high, degrees) < share:
        high *= 2
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if central_share(middle, degrees) < share else (low, middle)
    return high
