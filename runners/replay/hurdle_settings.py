"""Settings of the replayed hurdles, with rungs on a geometric grid from the first recorded point.

Candidates come in random order, without an adaptive sampler, so that only the hurdles are compared.
"""

from configuration.hurdles import Asha, Finite, Hyperband, ProgressiveMean, TopFraction
from runners.replay.simulated_executor import TOKENS, HurdleSettings
from runners.replay.simulation import Numbers

REDUCTION_FACTOR = 3  # Li et al. 2018, Hyperband, section 3.6: 3 or 4
PROGRESSIVE_COHORT = 10  # candidates between two hurdles
PROGRESSIVE_HURDLES = 3  # at equal distances before the end


def successive_halving(costs: Numbers) -> HurdleSettings:
    """Return successive halving: the best third continues at every rung, and one candidate of a cohort finishes."""
    rungs = _geometric(costs)
    hurdle = TopFraction(rungs=rungs, keep=1 / REDUCTION_FACTOR) if rungs else Finite()
    return HurdleSettings(hurdle, REDUCTION_FACTOR ** len(rungs))


def hyperband(costs: Numbers) -> HurdleSettings:
    """Return Hyperband; its first bracket has the size of a cohort of successive halving."""
    rungs = _geometric(costs)
    hurdle = Hyperband(rungs=rungs, reduction_factor=REDUCTION_FACTOR) if rungs else Finite()
    return HurdleSettings(hurdle, REDUCTION_FACTOR ** len(rungs))


def asha(costs: Numbers) -> HurdleSettings:
    """Return the stopping variant of ASHA, one candidate at a time; stopped candidates are never promoted."""
    rungs = _geometric(costs)
    return HurdleSettings(Asha(rungs=rungs, reduction_factor=REDUCTION_FACTOR) if rungs else Finite())


def progressive_mean(costs: Numbers) -> HurdleSettings:
    """Return Progressive Dynamic Hurdles, without the evolutionary search."""
    parts = PROGRESSIVE_HURDLES + 1
    rungs = _at_points(costs, [part / parts for part in range(1, parts)])
    return HurdleSettings(ProgressiveMean(rungs=rungs) if rungs else Finite(), PROGRESSIVE_COHORT)


def _geometric(costs: Numbers) -> tuple[int, ...]:
    """Return rungs in tokens: the first point, multiplied by powers of the reduction factor, before the end."""
    shares = [float(costs[0])]
    while shares[-1] * REDUCTION_FACTOR < 1 - 1e-9:
        shares.append(shares[-1] * REDUCTION_FACTOR)
    return _at_points(costs, shares)


def _at_points(costs: Numbers, shares: list[float]) -> tuple[int, ...]:
    """Return the first recorded points at or after shares of a training, in tokens, without the last point."""
    points = costs.searchsorted([share * (1 - 1e-9) for share in shares])
    return tuple(sorted({round(float(costs[point]) * TOKENS) for point in points if costs[point] < 1}))
