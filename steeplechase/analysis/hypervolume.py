"""Hypervolume of a set of points with two objectives, both minimised. Zitzler and Thiele 1998, PPSN V.

With two objectives it is the area under a staircase. Optuna's own function is the oracle in the tests; it is private
there, and its library takes a second to import.
"""

import numpy as np
from jaxtyping import Float


def hypervolume(points: Float[np.ndarray, "points 2"]) -> float:
    """Return the area that the points dominate in the unit square, whose corner (1, 1) is the reference point.

    Points outside the square count as far as they dominate a part of it.
    """
    clipped = np.clip(points, 0.0, 1.0)
    area, lowest = 0.0, 1.0
    for first, second in clipped[np.lexsort((clipped[:, 1], clipped[:, 0]))]:
        if second < lowest:
            area += float((1.0 - first) * (lowest - second))
            lowest = float(second)
    return area
