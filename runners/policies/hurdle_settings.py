"""Settings of the replayed hurdles, with rungs on a geometric grid from the first recorded point.

Candidates come in random order, without an adaptive sampler, so that only the hurdles are compared.
"""

from runners.policies.hurdle_policy import TOKENS, HurdleSettings
from runners.policies.policy import Numbers
from steeplechase.configuration.hurdles import Asha, Finite, Hyperband, ProgressiveMean, TopFraction

REDUCTION_FACTOR = 3  # Li et al. 2018, Hyperband, section 3.6: 3 or 4
PROGRESSIVE_COHORT = 10  # candidates between two hurdles
PROGRESSIVE_HURDLES = 3  # at equal distances before the end


def successive_halving(costs: Numbers) -> HurdleSettings:
    """Return successive halving: the best third continues at every rung, and one candidate of a cohort finishes."""
    rungs = _tokens(costs, geometric_points(costs))
    hurdle = TopFraction(rungs=rungs, keep=1 / REDUCTION_FACTOR) if rungs else Finite()
    return HurdleSettings(hurdle, REDUCTION_FACTOR ** len(rungs))


def hyperband(costs: Numbers) -> HurdleSettings:
    """Return Hyperband; its first bracket has the size of a cohort of successive halving."""
    rungs = _tokens(costs, geometric_points(costs))
    hurdle = Hyperband(rungs=rungs, reduction_factor=REDUCTION_FACTOR) if rungs else Finite()
    return HurdleSettings(hurdle, REDUCTION_FACTOR ** len(rungs))


def asha(costs: Numbers) -> HurdleSettings:
    """Return the stopping variant of ASHA, one candidate at a time; stopped candidates are never promoted."""
    rungs = _tokens(costs, geometric_points(costs))
    return HurdleSettings(Asha(rungs=rungs, reduction_factor=REDUCTION_FACTOR) if rungs else Finite())


def progressive_mean(costs: Numbers) -> HurdleSettings:
    """Return Progressive Dynamic Hurdles, without the evolutionary search."""
    parts = PROGRESSIVE_HURDLES + 1
    rungs = _tokens(costs, _points_at(costs, [part / parts for part in range(1, parts)]))
    return HurdleSettings(ProgressiveMean(rungs=rungs) if rungs else Finite(), PROGRESSIVE_COHORT)


def geometric_points(costs: Numbers) -> tuple[int, ...]:
    """Return the points of rungs: the first, and those at its cost times powers of the factor, before the end."""
    shares = [float(costs[0])]
    while shares[-1] * REDUCTION_FACTOR < 1 - 1e-9:
        shares.append(shares[-1] * REDUCTION_FACTOR)
    return _points_at(costs, shares)


def _points_at(costs: Numbers, shares: list[float]) -> tuple[int, ...]:
    """Return the first points at or after shares of a training, without the last point."""
    indices = costs.searchsorted([share * (1 - 1e-9) for share in shares])
    return tuple(sorted({int(index) + 1 for index in indices if costs[index] < 1}))


def _tokens(costs: Numbers, points: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(round(float(costs[point - 1]) * TOKENS) for point in points)
