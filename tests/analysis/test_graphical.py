"""Graphical procedures, simultaneous intervals, and families of claims."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float

from reports.statistics.claims import ClaimTest, claim_test, corrected
from steeplechase.analysis import paired
from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.graphical import Graph, directed, gated, graphical_test, holm
from steeplechase.analysis.simultaneous import Simultaneous, step_down

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


VALUES = st.lists(st.floats(-30, 30).map(lambda x: round(x, 3)), min_size=6, max_size=6)
DEGREES = st.lists(st.floats(1, 30), min_size=6, max_size=6)
GRAPHS = [holm(6), gated(3)]


def estimates_of(values: list[float], degrees: list[float]) -> Estimates:
    return Estimates(np.array(values), np.ones(6), np.array(degrees))


def excludes_zero(found: Simultaneous) -> list[bool]:
    """A bound of 0 of a rejected cell is open: the one-sided hypothesis holds 0 and is rejected."""
    open_at_zero = found.rejected & ((found.low == 0) | (found.high == 0))
    return ((found.low > 0) | (found.high < 0) | open_at_zero).tolist()


@pytest.mark.parametrize("graph", GRAPHS)
@settings(max_examples=40)
@given(values=VALUES, degrees=DEGREES)
def test_zero_is_outside_if_and_only_if_rejected(graph, values, degrees) -> None:
    found = step_down(estimates_of(values, degrees), graph)
    assert excludes_zero(found) == found.rejected.tolist() == (found.adjusted_p <= 0.05).tolist()
    assert (found.low <= found.high).all()
    held = ~found.rejected
    assert ((found.low <= 0) & (found.high >= 0))[held].all()
    assert (found.sign[found.rejected] == np.sign(np.array(values))[found.rejected]).all()


@given(values=VALUES, degrees=DEGREES)
def test_the_first_step_is_holms(values: list[float], degrees: list[float]) -> None:
    estimates = estimates_of(values, degrees)
    found = step_down(estimates, holm(6))
    assert np.nanmin(found.adjusted_p) == pytest.approx(min(1.0, 6 * estimates.p().min()), rel=1e-6)


def test_a_shut_gate_has_no_bounds_and_a_missing_test_no_p() -> None:
    values = np.array([0.1, 50.0, 40.0, 40.0])
    found = step_down(Estimates(values, np.array([1.0, 1.0, 1.0, np.nan]), np.full(4, 6.0)), gated(2))
    assert found.rejected.tolist() == [False, True, False, False]
    assert (found.low[2], found.high[2]) == (-np.inf, np.inf)
    assert found.level[2] == 0
    assert np.isnan([found.adjusted_p[3], found.low[3], found.high[3]]).all()


def test_a_look_spends_its_share_of_the_error() -> None:
    estimates = estimates_of([4.0, 3.0, 2.0, -1.0, 5.0, 0.1], [5.0] * 6)
    half, whole = step_down(estimates, holm(6), spent=np.full(6, 0.5)), step_down(estimates, holm(6), alpha=0.025)
    assert half.adjusted_p == pytest.approx(np.minimum(1.0, 2 * whole.adjusted_p), abs=1e-9)
    assert half.sign.tolist() == whole.sign.tolist()
    assert (half.low, half.high) == (pytest.approx(whole.low), pytest.approx(whole.high))


BOUNDS = st.sampled_from([(0.0, np.inf), (-np.inf, 0.0), (0.5, np.inf), (-1.0, 1.0), (-0.2, 0.2)])


def estimate(value: float, error: float = 1.0, degrees: float = 4.0) -> Estimates:
    return Estimates(np.array([value]), np.array([error]), np.array([degrees]))


@given(st.floats(-12, 12), BOUNDS)
def test_one_claim_is_judged_by_its_interval(value: float, bounds: tuple[float, float]) -> None:
    found = estimate(value)
    (claim,) = corrected([claim_test(found, *bounds)])
    (low,), (high,) = found.interval()
    assert claim.outside is not None
    assert claim.inside is not None
    assert (claim.outside <= ALPHA) == (bounds[0] <= low and high <= bounds[1])
    outside, contradicted = high < bounds[0] or low > bounds[1], claim.inside <= ALPHA
    assert contradicted == outside if np.isinf(bounds).any() else contradicted <= outside


def test_what_is_not_known_counts_in_the_family_and_stays_unknown() -> None:
    family = corrected([ClaimTest(0.02, 0.98), ClaimTest(None, None)])
    assert family[0].outside == pytest.approx(0.08)
    assert family[1] == ClaimTest(None, None)
    assert claim_test(estimate(np.nan), 0.0, np.inf) == ClaimTest(None, None)
