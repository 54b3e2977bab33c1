"""Corrections for several tests: Holm's, and the gate of the headline family as a graphical procedure.

Bretz, Maurer, Brannath and Posch 2009, Statistics in Medicine 28, 586, algorithm 1; Strassburger and Bretz 2008,
ibid. 27, 4914, for the simultaneous bounds. A test that cannot be made has a p of NaN.
"""

from collections.abc import Sequence

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tools.audit.estimates import ALPHA, Estimate

NOTHING = 1e-12
"""Share of alpha that counts as none."""


def holm(p_values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the adjusted p of every test, and the level at which it was last tested."""
    p = np.array(p_values, float)
    adjusted, levels, known = np.full_like(p, np.nan), np.full_like(p, np.nan), ~np.isnan(p)
    if known.any():
        rejected, adjusted[known], *_ = multipletests(p[known], ALPHA, "holm")
        smaller = stats.rankdata(p[known], "ordinal") - 1
        levels[known] = ALPHA / (known.sum() - np.minimum(smaller, rejected.sum()))
    return adjusted, levels


def gated(cells: Sequence[Estimate], metrics: int) -> np.ndarray:
    """Return adjusted p, two-sided level and both simultaneous bounds of the headline cells, one row each.

    `cells`: every arm on the first metric, then every arm on the second. Each arm has a share of alpha on the first.
    Once that is rejected, its second has the share, and passes it on to the first metric of the other arms. Every
    hypothesis is two, "not above 0" and "not below 0", with half of the share.
    """
    arms = len(cells) // metrics
    none, others = np.zeros((arms, arms)), (np.ones((arms, arms)) - np.eye(arms)) / max(1, arms - 1)
    shares, edges = np.full(arms, 1 / arms), others
    if metrics == 2:
        shares, edges = np.append(shares, np.zeros(arms)), np.block([[none, np.eye(arms)], [others, none]])
    p = np.transpose([cell.tails(0.0) for cell in cells]).ravel()
    adjusted, levels = rejected_in_sequence(p, np.tile(shares / 2, 2), np.tile(edges / 2, (2, 2)))
    (p_above, p_below), (above, below) = adjusted.reshape(2, -1), levels.reshape(2, -1)
    value, error, degrees = np.array([cell[:3] for cell in cells]).T
    low = np.where(p_above <= ALPHA, 0.0, value - stats.t.isf(above, degrees) * error)
    high = np.where(p_below <= ALPHA, 0.0, value + stats.t.isf(below, degrees) * error)
    return np.stack([np.minimum(p_above, p_below), 2 * np.where(value > 0, above, below), low, high])


def rejected_in_sequence(p: np.ndarray, shares: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the adjusted p and the last level of every hypothesis; one without a test passes its share on first."""
    adjusted, levels, left, highest = np.full_like(p, np.nan), np.full_like(p, np.nan), ~np.isnan(p), 0.0
    for place in np.flatnonzero(~left):
        shares, edges = _passed_on(shares, edges, place)
    while left.any():
        if highest <= ALPHA:
            levels[left] = ALPHA * shares[left]
        ratios = np.where(left, p / np.maximum(shares, NOTHING), np.inf)
        first = ratios.argmin()
        adjusted[first] = highest = max(highest, min(1.0, ratios[first]))
        shares, edges = _passed_on(shares, edges, first)
        left[first] = False
    return adjusted, levels


def _passed_on(shares: np.ndarray, edges: np.ndarray, gone: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the graph without a hypothesis: its share and the edges through it go on to the others."""
    out, into = edges[gone], edges[:, gone]
    shares = shares + shares[gone] * out
    stays = 1 - into * out  # the rest would return to where it came from
    edges = (edges + np.outer(into, out)) / np.where(stays > NOTHING, stays, np.inf)[:, None]
    np.fill_diagonal(edges, 0.0)
    shares[gone], edges[gone], edges[:, gone] = 0.0, 0.0, 0.0
    return shares, edges
