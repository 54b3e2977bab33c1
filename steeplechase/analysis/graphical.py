"""Graphical multiple tests: weighted Bonferroni with the error of a rejected hypothesis passed on along a graph.

Bretz, Maurer, Brannath and Posch 2009, Statistics in Medicine 28, 586 (algorithm 1 and its adjusted p values). Each
hypothesis starts with a share of alpha; a rejected one passes its share to the others by the weights of its edges.
The family-wise error is at most alpha for any dependence between the tests and any number of true hypotheses. Holm's
correction is the complete graph; what is behind a gate starts with no share.

Directed tests halve the share of a hypothesis between "not above 0" and "not below 0", and a rejected half passes on
its own share alone. So the sign that a rejection reports is covered by the same family-wise error, and simultaneous
intervals exist that agree with every rejection (`simultaneous`).
"""

from dataclasses import dataclass

import numpy as np

from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.shapes import Bool, Float, Int

ROUNDING = 1e-12


@dataclass(frozen=True)
class Graph:
    """Hypotheses with shares of alpha that sum to at most 1, and by row where the share of a rejected one goes."""

    shares: Float[np.ndarray, "hypotheses"]  # noqa: F821
    edges: Float[np.ndarray, "hypotheses hypotheses"]


@dataclass(frozen=True)
class GraphicalTest:
    """What the procedure gives, per table and hypothesis."""

    adjusted_p: Float[np.ndarray, "*tables hypotheses"]
    """The smallest alpha at which the hypothesis is rejected; NaN for a test without a p."""
    level: Float[np.ndarray, "*tables hypotheses"]
    """The share of alpha at which it was last tested, alpha times its share in the final graph."""
    alpha: float

    @property
    def rejected(self) -> Bool[np.ndarray, "*tables hypotheses"]:
        """Whether each is rejected at alpha."""
        return np.asarray(self.adjusted_p <= self.alpha)


def holm(hypotheses: int) -> Graph:
    """Return the graph of Holm's correction: all others share equally in what is passed on."""
    edges = np.ones((hypotheses, hypotheses)) - np.eye(hypotheses)
    return Graph(np.full(hypotheses, 1 / hypotheses), edges / max(1, hypotheses - 1))


def gated(arms: int, passed_on: float = 1.0) -> Graph:
    """Return a graph of a gate metric for every arm, then a gated one for every arm in the same order.

    A gated hypothesis is tested only where the gate of its arm is rejected. A rejected gate gives it `passed_on` of
    its share, the rest goes to the other gates; a rejected gated hypothesis gives its share to the other gates. All
    of it by default: with five seeds that costs 2 points of power at the gates and gains 5 to 9 behind them
    (docs/statistics.md).
    """
    others = holm(arms).edges
    own = passed_on if arms > 1 else 1.0
    edges = np.block([[(1 - own) * others, own * np.eye(arms)], [others, np.zeros((arms, arms))]])
    return Graph(np.concatenate([np.full(arms, 1 / arms), np.zeros(arms)]), edges)


def directed(graph: Graph) -> Graph:
    """Return the graph of one-sided hypotheses: all "not above 0" in the order of `graph`, then all "not below 0"."""
    return Graph(np.tile(graph.shares / 2, 2), np.tile(graph.edges / 2, (2, 2)))


def graphical_test(p: Float[np.ndarray, "*tables hypotheses"], graph: Graph, alpha: float = ALPHA) -> GraphicalTest:
    """Return the adjusted p and the level of every hypothesis, per table.

    Hypotheses without a p (NaN) are removed beforehand and pass their share on: that a test cannot be made does not
    depend on which hypotheses are true.
    """
    tables = p.reshape(-1, p.shape[-1])
    rows, missing = np.arange(len(tables)), np.isnan(tables)
    shares, edges = (np.repeat(each[None], len(tables), axis=0) for each in (graph.shares, graph.edges))
    for place in np.flatnonzero(missing.any(axis=0)):
        _remove(shares, edges, np.full(len(tables), place), missing[:, place])
    adjusted, levels, remaining = np.full(tables.shape, np.nan), np.full(tables.shape, np.nan), ~missing
    highest = np.zeros(len(tables))
    for _ in range(tables.shape[1]):
        tested = remaining & (shares > ROUNDING)
        ratios = np.where(tested, tables / np.where(tested, shares, 1.0), np.where(remaining, 1.0 / ROUNDING, np.inf))
        first = ratios.argmin(axis=1)
        left, stopped = remaining[rows, first], highest > alpha
        highest = np.where(left, np.maximum(highest, np.minimum(1.0, ratios[rows, first])), highest)
        levels = np.where(remaining & ~stopped[:, None], alpha * shares, levels)
        adjusted[rows[left], first[left]] = highest[left]
        remaining[rows[left], first[left]] = False
        _remove(shares, edges, first, left)
    return GraphicalTest(adjusted.reshape(p.shape), levels.reshape(p.shape), alpha)


def _remove(
    shares: Float[np.ndarray, "tables hypotheses"],
    edges: Float[np.ndarray, "tables hypotheses hypotheses"],
    places: Int[np.ndarray, "tables"],  # noqa: F821
    chosen: Bool[np.ndarray, "tables"],  # noqa: F821
) -> None:
    """Take one hypothesis out of the chosen tables, in place: its share and the edges through it are passed on."""
    rows = np.flatnonzero(chosen)
    each, out = places[rows], edges[rows, places[rows]]
    into = edges[rows, :, each]
    shares[rows] += shares[rows, each][:, None] * out
    back = 1 - into * out
    left = (edges[rows] + into[:, :, None] * out[:, None, :]) / np.where(back > ROUNDING, back, np.inf)[:, :, None]
    left[:, np.arange(left.shape[1]), np.arange(left.shape[1])] = 0.0
    places_of_rows = np.arange(len(rows))
    left[places_of_rows, each], left[places_of_rows, :, each] = 0.0, 0.0
    edges[rows], shares[rows, each] = left, 0.0
