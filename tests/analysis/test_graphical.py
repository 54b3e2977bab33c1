"""Graphical procedures, simultaneous intervals, and families of claims."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float
from scipy import stats

from steeplechase.analysis import paired
from steeplechase.analysis.claim_family import ClaimTest, claim_test, corrected
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.graphical import Graph, directed, gated, graphical_test, holm
from steeplechase.analysis.simultaneous import Simultaneous, single_step, step_down

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


VALUES = st.lists(st.floats(-30, 30).map(lambda x: round(x, 3)), min_size=6, max_size=6)
DEGREES = st.lists(st.floats(1, 30), min_size=6, max_size=6)
PROCEDURES = [(step_down, holm(6)), (step_down, gated(3)), (single_step, holm(6))]


def estimates_of(values: list[float], degrees: list[float]) -> Estimates:
    return Estimates(np.array(values), np.ones(6), np.array(degrees))


def excludes_zero(found: Simultaneous) -> list[bool]:
    """A bound of 0 of a rejected cell is open: the one-sided hypothesis holds 0 and is rejected."""
    open_at_zero = found.rejected & ((found.low == 0) | (found.high == 0))
    return ((found.low > 0) | (found.high < 0) | open_at_zero).tolist()


@pytest.mark.parametrize(("procedure", "graph"), PROCEDURES)
@settings(max_examples=40)
@given(values=VALUES, degrees=DEGREES)
def test_zero_is_outside_if_and_only_if_rejected(procedure, graph, values, degrees) -> None:
    found = procedure(estimates_of(values, degrees), graph)
    assert excludes_zero(found) == found.rejected.tolist() == (found.adjusted_p <= 0.05).tolist()
    assert (found.low <= found.high).all()
    held = ~found.rejected
    assert ((found.low <= 0) & (found.high >= 0))[held].all()
    assert (found.sign[found.rejected] == np.sign(np.array(values))[found.rejected]).all()


@given(values=VALUES, degrees=DEGREES)
def test_the_first_step_is_holms_and_later_ones_at_most_as_generous(
    values: list[float], degrees: list[float]
) -> None:
    estimates = estimates_of(values, degrees)
    found, one = step_down(estimates, holm(6)), single_step(estimates, holm(6))
    assert (found.rejected >= one.rejected).all()
    assert (found.level >= one.level - 1e-12).all()
    assert np.nanmin(found.adjusted_p) == pytest.approx(min(1.0, 6 * estimates.p().min()), rel=1e-6)


def test_a_shut_gate_has_no_bounds_and_a_missing_test_no_p() -> None:
    values = np.array([0.1, 50.0, 40.0, 40.0])
    found = step_down(Estimates(values, np.array([1.0, 1.0, 1.0, np.nan]), np.full(4, 6.0)), gated(2))
    assert found.rejected.tolist() == [False, True, False, False]
    assert (found.low[2], found.high[2]) == (-np.inf, np.inf)
    assert found.level[2] == 0
    assert np.isnan([found.adjusted_p[3], found.low[3], found.high[3]]).all()


@pytest.mark.parametrize("truth", [(0.0,) * 5, (0.5,) * 5, (0.0, 0.0, 1.0, 6.0, 9.0)])
@pytest.mark.parametrize("procedure", [step_down, single_step])
def test_all_true_values_are_held_together(procedure, truth: tuple[float, ...]) -> None:
    random = np.random.default_rng(5)
    tables, degrees = 2000, 4.0
    z = random.normal(size=(tables, 1)) * 0.7 + random.normal(size=(tables, 5)) * 0.7
    errors = np.sqrt(random.chisquare(degrees, (tables, 5)) / degrees)
    found = procedure(Estimates(np.array(truth) + z, errors, np.full((tables, 5), degrees)), holm(5))
    held = ((found.low <= truth) & (truth <= found.high)).all(axis=1)
    assert held.mean() >= 0.95 - 3 * (0.05 * 0.95 / tables) ** 0.5


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
    assert claim.supported() == (bounds[0] <= low and high <= bounds[1])
    outside = high < bounds[0] or low > bounds[1]
    assert claim.contradicted() <= outside
    if np.isinf(bounds).any():
        assert claim.contradicted() == outside


def test_what_is_not_known_is_not_part_of_the_family() -> None:
    family = corrected([ClaimTest(0.02, 0.98), ClaimTest(None, None)])
    assert family[0].supported_p == pytest.approx(0.04)
    assert not family[1].supported()
    assert not family[1].contradicted()
    assert claim_test(estimate(np.nan), 0.0, np.inf) == ClaimTest(None, None)
