"""The searches that `replay` knows by name: a hurdle, and who proposes its candidates.

Rungs of the published rules are on a geometric grid from the first recorded point.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steeplechase.configuration.hurdles.cohorts import Asha, Hyperband, TopFraction
from steeplechase.configuration.hurdles.progressive_mean import ProgressiveMean
from steeplechase.configuration.hurdles.rank_checked import SHARES, RankChecked
from steeplechase.configuration.hurdles.rungs import Finite, Hurdle

Numbers = NDArray[np.float64]

TOKENS = 10**9
"""Tokens of a full training, independent of the unit of the recorded steps."""
REDUCTION_FACTOR = 3  # Li et al. 2018, Hyperband, section 3.6: 3 or 4
QUARTERS = (1 / 4, 1 / 2, 3 / 4)
PROGRESSIVE_COHORT = 10  # candidates between two hurdles


@dataclass(frozen=True)
class SearchSettings:
    """A hurdle, with rungs as shares of `TOKENS`, the size of a cohort, and its proposals."""

    hurdle: Hurdle
    cohort: int = 5
    """Default: that of `design.cohort`."""
    learns: bool = False
    """Whether Optuna's TPE proposes candidates after the first cohort; else they come in random order."""
    random_share: float = 0.0
    """Share of the proposals that come in random order nevertheless."""


SettingsOf = Callable[[Numbers], SearchSettings]
"""Settings by the costs of the points."""


def rank_checked(costs: Numbers, learns: bool = True, random_share: float = 0.5) -> SearchSettings:
    """Return the recommended search: rungs that are checked, proposals of TPE, every second one at random."""
    rungs = _tokens(costs, SHARES)
    return SearchSettings(RankChecked(rungs=rungs) if rungs else Finite(), 5, learns, random_share)


def whole(costs: Numbers, learns: bool) -> SearchSettings:
    """Return whole trainings."""
    return SearchSettings(Finite(), 5 if learns else 1, learns)


def asha(costs: Numbers) -> SearchSettings:
    """Return the stopping variant of ASHA, one candidate at a time."""
    rungs = _tokens(costs, _geometric(costs))
    return SearchSettings(Asha(rungs=rungs, reduction_factor=REDUCTION_FACTOR) if rungs else Finite(), 1)


def successive_halving(costs: Numbers) -> SearchSettings:
    """Return successive halving: the best third continues at every rung, and one candidate of a cohort finishes."""
    rungs = _tokens(costs, _geometric(costs))
    hurdle = TopFraction(rungs=rungs, keep=1 / REDUCTION_FACTOR) if rungs else Finite()
    return SearchSettings(hurdle, REDUCTION_FACTOR ** len(rungs))


def hyperband(costs: Numbers) -> SearchSettings:
    """Return Hyperband; its first bracket has the size of a cohort of successive halving."""
    rungs = _tokens(costs, _geometric(costs))
    hurdle = Hyperband(rungs=rungs, reduction_factor=REDUCTION_FACTOR) if rungs else Finite()
    return SearchSettings(hurdle, REDUCTION_FACTOR ** len(rungs))


def progressive_mean(costs: Numbers) -> SearchSettings:
    """Return Progressive Dynamic Hurdles of random candidates, without the evolutionary search."""
    rungs = _tokens(costs, QUARTERS)
    return SearchSettings(ProgressiveMean(rungs=rungs) if rungs else Finite(), PROGRESSIVE_COHORT)


RECOMMENDED = "rank_checked"
SEARCHES: Mapping[str, SettingsOf] = {
    "rank_checked": rank_checked,
    "rank_checked_tpe": partial(rank_checked, random_share=0.0),
    "rank_checked_random": partial(rank_checked, learns=False),
    "asha": asha,
    "hyperband": hyperband,
    "successive_halving": successive_halving,
    "progressive_mean": progressive_mean,
    "tpe": partial(whole, learns=True),
    "random": partial(whole, learns=False),
}
"""By name, as replayed."""


def _geometric(costs: Numbers) -> tuple[float, ...]:
    """Return the first point's share of a training and its multiples by powers of the factor, before the end."""
    shares = [float(costs[0])]
    while shares[-1] * REDUCTION_FACTOR < 1 - 1e-9:
        shares.append(shares[-1] * REDUCTION_FACTOR)
    return tuple(shares)


def _tokens(costs: Numbers, shares: tuple[float, ...]) -> tuple[int, ...]:
    """Return the tokens of the first points at or after shares of a training, without the last point."""
    indices = costs.searchsorted([share * (1 - 1e-9) for share in shares])
    return tuple(sorted({round(float(costs[index]) * TOKENS) for index in indices if costs[index] < 1}))
