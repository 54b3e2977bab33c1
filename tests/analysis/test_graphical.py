"""The graphical procedure is Holm's on a complete graph, a gate on a gated one, and agrees with closed testing."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float
from scipy import stats

from analysis import paired
from analysis.graphical import Graph, directed, gated, graphical_test, holm

P = st.floats(0, 1).map(lambda p: round(p**3, 6))
TABLES = st.lists(st.lists(P | st.just(np.nan), min_size=4, max_size=4), min_size=1, max_size=5)


@given(TABLES)
def test_the_complete_graph_is_holms_correction(tables: list[list[float]]) -> None:
    found = graphical_test(np.array(tables), holm(4))
    for table, adjusted, level in zip(tables, found.adjusted_p, found.level, strict=True):
        known = [None if np.isnan(p) else p for p in table]
        expected = paired.holm(known)
        assert [None if np.isnan(p) else p for p in adjusted] == [p and pytest.approx(p) for p in expected]
        rejected = [p is not None and p <= 0.05 for p in expected]
        left = sum(p is not None for p in known) - sum(rejected)
        assert all(np.isnan(each) == (p is None) for each, p in zip(level, known, strict=True))
        for each, hit in zip(level, rejected, strict=True):
            if not hit and not np.isnan(each):
                assert each == pytest.approx(0.05 / left)


def local_shares(graph: Graph, members: tuple[int, ...]) -> Float[np.ndarray, "hypotheses"]:  # noqa: F821
    """Return the shares of an intersection, by algorithm 1 of the paper in its scalar form."""
    shares, edges = graph.shares.copy(), graph.edges.copy()
    here = list(range(len(shares)))
    for removed in [place for place in here if place not in members]:
        here.remove(removed)
        old = edges.copy()
        for one in here:
            shares[one] += shares[removed] * old[removed, one]
            for other in here:
                loop = old[one, removed] * old[removed, one]
                passed = old[one, other] + old[one, removed] * old[removed, other]
                edges[one, other] = passed / (1 - loop) if one != other and loop < 1 else 0.0
    return shares


def closed_test(p: Float[np.ndarray, "hypotheses"], graph: Graph, alpha: float) -> list[bool]:  # noqa: F821
    """Reject a hypothesis if weighted Bonferroni rejects every intersection that it is part of."""
    places = range(len(p))
    subsets = list(chain.from_iterable(combinations(places, size) for size in range(1, len(p) + 1)))
    rejects = {
        each: any(p[one] <= alpha * share for one, share in enumerate(local_shares(graph, each)) if one in each)
        for each in subsets
    }
    return [all(rejected for each, rejected in rejects.items() if place in each) for place in places]


@settings(max_examples=25)
@given(st.lists(P.filter(bool), min_size=6, max_size=6), st.sampled_from([0.3, 0.5, 1.0]))
def test_it_is_the_closed_test_of_its_intersections(p: list[float], passed_on: float) -> None:
    for graph in (gated(3, passed_on), directed(gated(2, passed_on)), holm(6)):
        values = np.array((p + p)[: len(graph.shares)])
        assert graphical_test(values, graph).rejected.tolist() == closed_test(values, graph, 0.05)


@given(st.lists(P, min_size=8, max_size=8))
def test_a_gated_hypothesis_is_rejected_only_behind_its_gate(p: list[float]) -> None:
    gate, behind = np.split(graphical_test(np.array(p), gated(4)).rejected, 2)
    assert not (behind & ~gate).any()


@given(st.lists(P, min_size=8, max_size=8), st.integers(0, 7))
def test_a_smaller_p_loses_no_rejection(p: list[float], place: int) -> None:
    before = graphical_test(np.array(p), gated(4)).rejected
    p[place] /= 10
    assert (graphical_test(np.array(p), gated(4)).rejected >= before).all()


@pytest.mark.parametrize("arms", [1, 2, 5])
def test_no_graph_gives_more_than_it_has(arms: int) -> None:
    for graph in (gated(arms), gated(arms, 1.0), directed(gated(arms)), holm(arms), directed(holm(arms))):
        assert graph.shares.sum() == pytest.approx(1)
        assert (graph.edges.sum(axis=1) <= 1 + 1e-12).all()
        assert not np.diag(graph.edges).any()


@pytest.mark.parametrize("true_gates", [0, 2, 4])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_familywise_error_is_controlled_behind_true_and_false_gates(true_gates: int, correlation: float) -> None:
    random = np.random.default_rng(true_gates)
    shared, own = random.normal(size=(4000, 1, 4)), random.normal(size=(4000, 2, 4))
    z = correlation**0.5 * shared + (1 - correlation) ** 0.5 * own
    z[:, 0, true_gates:] += 6.0  # these gates are false hypotheses and open; all gated ones are true
    p = (2 * stats.norm.sf(np.abs(z))).reshape(4000, 8)
    rejected = graphical_test(p, gated(4)).rejected
    wrong = np.concatenate([rejected[:, :true_gates], rejected[:, 4:]], axis=1).any(axis=1)
    assert wrong.mean() <= 0.05 + 3 * (0.05 * 0.95 / 4000) ** 0.5
