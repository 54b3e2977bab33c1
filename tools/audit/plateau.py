"""Which seeds left the plateau of the loss, and how many per arm: Clopper-Pearson, Fisher's test, Holm's correction.

The level of the plateau is the report's. Every exit from it is found anew, by least squares over all exits and
exponents, and judged by BIC, as `docs/statistics.md` defines it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from tools.audit.inference import ALPHA, holm

EXPONENTS = np.geomspace(0.1, 8.0, 12)
FEWEST_POINTS, POINTS_AT_MOST = 20, 200
BASELINE = "baseline"


class Exit(NamedTuple):
    """A curve's exit from its plateau in tokens, None where it has not left."""

    tokens: float | None


def exit_of(curve: Sequence[tuple[float, float]], level: float) -> Exit | None:
    """Return where a training curve leaves a level; None of a curve that is too short."""
    points = np.array(sorted(curve), dtype=float)
    if len(points) < FEWEST_POINTS:
        return None
    if len(points) > POINTS_AT_MOST:
        points = np.array([part.mean(axis=0) for part in np.array_split(points, POINTS_AT_MOST)])
    tokens, losses = points.T
    reached = np.flatnonzero(losses <= level)
    if not len(reached) or reached[0] >= len(losses) - 2:
        return Exit(None)
    start, points_of = int(reached[0]), len(losses) - int(reached[0])
    gained = np.array([_explained(tokens, losses - level, place) for place in range(start, len(losses) - 2)])
    flat, best = float(np.square(losses[start:] - level).sum()), int(gained.argmax())
    leaves = _bic_gain(flat, flat - gained[best], points_of) > 3 * math.log(points_of)
    return Exit(float(tokens[start + best]) if leaves else None)


def _explained(tokens: np.ndarray, deviations: np.ndarray, place: int) -> float:
    """Return how much of the squared deviations a fall that begins at a point explains, with the best exponent."""
    shapes = 1 - np.maximum(tokens / tokens[place], 1.0) ** -EXPONENTS[:, None]
    along = np.maximum(-shapes @ deviations, 0.0)
    return float((along**2 / np.square(shapes).sum(axis=1)).max())


def _bic_gain(without: float, with_more: float, points: int) -> float:
    smallest = 1e-12 * max(without, 1e-300)
    return points * math.log(max(without, smallest) / max(with_more, smallest))


def rows(exits: Mapping[str, Mapping[int, Exit]]) -> Iterator[dict[str, Any]]:
    """Yield the number of seeds that left by arm, with its interval and its test against the baseline."""
    counts = _counts(exits)
    tests = {arm: _fisher(counts, arm) for arm in counts}
    tested = [p if _can_differ(counts, arm) else math.nan for arm, p in tests.items()]
    corrected = dict(zip(tests, holm(tested, share_of_means(exits))[0], strict=True))
    adjusted = {arm: tests[arm] if math.isnan(p) else p for arm, p in corrected.items()}
    for arm, (left, seeds) in counts.items():
        low, high = proportion_confint(left, seeds, ALPHA, "beta")
        left_at = sorted(each.tokens for each in exits[arm].values() if each.tokens is not None)
        yield {
            "arm": arm,
            "left": left,
            "seeds": seeds,
            "low": low,
            "high": high,
            "unseen": 1 - ALPHA ** (1 / seeds) if left == seeds else math.nan,
            "p_fisher": tests[arm],
            "p_adjusted": adjusted[arm],
            **{name: left_at[n] if left_at else math.nan for name, n in (("first_exit", 0), ("last_exit", -1))},
        }


def _counts(exits: Mapping[str, Mapping[int, Exit]]) -> dict[str, tuple[int, int]]:
    """Return by arm how many seeds left, and of how many."""
    return {arm: (sum(each.tokens is not None for each in of.values()), len(of)) for arm, of in exits.items()}


def share_of_means(exits: Mapping[str, Mapping[int, Exit]]) -> float:
    """Return the share of alpha that tests of means have: half where Fisher's test of an arm could be significant."""
    counts = _counts(exits)
    return 0.5 if any(_can_differ(counts, arm) for arm in counts) else 1.0


def _can_differ(counts: Mapping[str, tuple[int, int]], arm: str) -> bool:
    """Whether Fisher's test could be significant with as many seeds that left in both arms together."""
    if arm == BASELINE or BASELINE not in counts:
        return False
    (left, seeds), (of_baseline, in_baseline) = counts[arm], counts[BASELINE]
    together = left + of_baseline
    ends = max(0, together - in_baseline), min(together, seeds)
    tables = ([[k, seeds - k], [together - k, in_baseline - together + k]] for k in ends)
    return min(float(stats.fisher_exact(table).pvalue) for table in tables) <= ALPHA


def _fisher(counts: Mapping[str, tuple[int, int]], arm: str) -> float:
    if arm == BASELINE or BASELINE not in counts:
        return math.nan
    table = [[left, seeds - left] for left, seeds in (counts[arm], counts[BASELINE])]
    return float(stats.fisher_exact(table).pvalue)
