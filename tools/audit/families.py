"""Corrections for several tests: Holm, the gate of loss before score with directed tests, moderated variances.

Holm 1979; Bretz, Maurer, Brannath and Posch 2009, algorithms 1 and 2; Strassburger and Bretz 2008 for the
simultaneous bounds; Smyth 2004 for the moderated variances.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

from tools.audit.inference import ALPHA, BySeed, Estimate, variance

ZERO = 1e-12


@dataclass(frozen=True)
class Corrected:
    """A test after correction: adjusted p, two-sided level, simultaneous bounds; None where unknown or infinite."""

    p: float | None = None
    level: float | None = None
    low: float | None = None
    high: float | None = None


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the adjusted p of every known p."""
    return [found.p for found in holm_with_levels(p_values)]


def holm_with_levels(p_values: Sequence[float | None]) -> list[Corrected]:
    """Return the adjusted p and the level at which each was last tested."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    found, highest = [Corrected()] * len(p_values), 0.0
    rejected = 0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        rejected = rank + 1 if highest <= ALPHA else rejected
        left = len(known) - min(rank, rejected)
        found[place] = Corrected(highest, ALPHA / left)
    return found


class Graph:
    """Hypotheses with shares of alpha, passed on along edges when one is rejected."""

    def __init__(self, shares: Sequence[float], edges: np.ndarray) -> None:
        self.shares = [float(share) for share in shares]
        self.edges = np.array(edges, dtype=float)

    def remove(self, gone: int) -> None:
        """Pass the share of a hypothesis on and close the graph around it."""
        edges, size = self.edges, len(self.shares)
        new = np.zeros_like(edges)
        for one in range(size):
            self.shares[one] += self.shares[gone] * edges[gone, one] if one != gone else 0.0
            for other in range(size):
                back = edges[one, gone] * edges[gone, one]
                if gone not in (one, other) and one != other and back < 1 - ZERO:
                    new[one, other] = (edges[one, other] + edges[one, gone] * edges[gone, other]) / (1 - back)
        self.shares[gone], self.edges = 0.0, new


def sequentially_rejected(p_values: Sequence[float | None], graph: Graph) -> list[tuple[float, float]]:
    """Return the adjusted p and the last level of every hypothesis; those without a p pass their shares on first."""
    known = {place: p for place, p in enumerate(p_values) if p is not None}
    for place in range(len(p_values)):
        if place not in known:
            graph.remove(place)
    left, highest = {*known}, 0.0
    adjusted, levels = [1.0] * len(p_values), [0.0] * len(p_values)
    while left:
        if highest <= ALPHA:
            for each in left:
                levels[each] = ALPHA * graph.shares[each]
        tested = [each for each in left if graph.shares[each] > ZERO]
        if not tested:
            break
        first = min(tested, key=lambda each: (known[each] / graph.shares[each], each))
        highest = max(highest, min(1.0, known[first] / graph.shares[first]))
        adjusted[first] = highest
        left.remove(first)
        graph.remove(first)
    return list(zip(adjusted, levels, strict=True))


def gate(arms: int, metrics: int) -> Graph:
    """Return the graph of each arm's loss before its score, which passes its level on to the other losses.

    With a single headline metric it is Holm's. Every hypothesis is split into its two directions, all "at most 0"
    before all "at least 0", and a rejected half passes on its own share.
    """
    others = (np.ones((arms, arms)) - np.eye(arms)) / max(1, arms - 1)
    shares, edges = [1 / arms] * arms, others
    if metrics == 2:
        shares += [0.0] * arms
        edges = np.block([[np.zeros((arms, arms)), np.eye(arms)], [others, np.zeros((arms, arms))]])
    return Graph([share / 2 for share in shares] * 2, np.tile(edges / 2, (2, 2)))


def gated(cells: Sequence[Estimate], metrics: int, spent: Sequence[float]) -> list[Corrected]:
    """Return the corrected tests of the headline cells: the gate metric for every arm, then the score.

    Arms without a test on any of the metrics are left out of the family beforehand. `spent` is the share of alpha
    of each cell's look.
    """
    arms = len(cells) // metrics if metrics else 0
    tested = [arm for arm in range(arms) if any(cells[arm + arms * at].known for at in range(metrics))]
    places = [arm + arms * at for at in range(metrics) for arm in tested]
    chosen, shares = [cells[place] for place in places], [spent[place] for place in places]
    sides = [[cell.p_above(0.0) for cell in chosen], [cell.p_below(0.0) for cell in chosen]]
    p_values = [
        min(1.0, p / share) if cell.known else None
        for side in sides
        for cell, p, share in zip(chosen, side, shares, strict=True)
    ]
    found = sequentially_rejected(p_values, gate(len(tested), metrics)) if tested else []
    above, below = found[: len(chosen)], found[len(chosen) :]
    all_cells = [Corrected()] * len(cells)
    for place, cell, share, up, down in zip(places, chosen, shares, above, below, strict=True):
        if not cell.known:
            continue
        low = 0.0 if up[0] <= ALPHA else _bound(cell, up[1] * share, -1)
        high = 0.0 if down[0] <= ALPHA else _bound(cell, down[1] * share, 1)
        level = 2 * share * (up[1] if cell.value > 0 else down[1])
        all_cells[place] = Corrected(min(up[0], down[0]), level, low, high)
    return all_cells


def _bound(cell: Estimate, level: float, sign: int) -> float | None:
    """Return a one-sided bound at a level; None where it is infinite."""
    if level <= 0:
        return None
    return cell.value + sign * max(0.0, float(stats.t.isf(level, cell.degrees))) * cell.error


def moderated_p(samples: Sequence[BySeed]) -> list[float | None]:
    """Return the two-sided p of every further sample against the first, with moderated variances."""
    sizes = [len(sample) for sample in samples]
    variances = [variance([*sample.values()]) for sample in samples]
    prior_degrees, prior = _prior(sizes, variances)
    total = sum(size - 1 for size in sizes if size > 1)
    posterior, degrees = [], []
    for size, own in zip(sizes, variances, strict=True):
        of_sample = max(0, size - 1) * own if size > 1 else 0.0
        posterior.append((prior_degrees * prior + of_sample) / (prior_degrees + max(0, size - 1)))
        degrees.append(min(prior_degrees + max(0, size - 1), total))
    means = [math.fsum(s.values()) / len(s) if s else math.nan for s in samples]
    terms = [v / size if size else math.nan for v, size in zip(posterior, sizes, strict=True)]
    found: list[float | None] = []
    for at in range(1, len(samples)):
        both = terms[0] + terms[at]
        if not both > 0 or not total:
            found.append(None)
            continue
        free = min(both**2 / (terms[0] ** 2 / degrees[0] + terms[at] ** 2 / degrees[at]), total)
        p = 2 * float(stats.t.sf(abs(means[at] - means[0]) / math.sqrt(both), free))
        found.append(None if math.isnan(p) else p)
    return found


def _prior(sizes: Sequence[int], variances: Sequence[float]) -> tuple[float, float]:
    """Return the degrees of freedom and the variance of the prior, fitted to the logarithms of the variances."""
    pairs = [(size - 1, own) for size, own in zip(sizes, variances, strict=True) if own > 0]
    if not pairs:
        return math.nan, math.nan
    logs = [math.log(own) - special.digamma(free / 2) + math.log(free / 2) for free, own in pairs]
    trigammas = [float(special.polygamma(1, free / 2)) for free, _ in pairs]
    excess = float(np.var(logs, ddof=1)) - float(np.mean(trigammas)) if len(pairs) > 1 else math.nan
    if not excess > 0:  # the variances differ by no more than samples of a common one
        return 1e10, sum(free * own for free, own in pairs) / sum(free for free, _ in pairs)
    half = math.exp(optimize.brentq(lambda at: special.polygamma(1, math.exp(at)) - excess, -14, 24, xtol=1e-14))
    return 2 * half, math.exp(float(np.mean(logs)) + float(special.digamma(half)) - math.log(half))
