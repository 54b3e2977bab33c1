"""Factorial contrasts of drawn designs agree with an over-parameterised least squares, and so does estimability."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.analysis.contrasts import Contrast, CrossedDesign, Levels


def factorial(counts: tuple[int, ...]) -> CrossedDesign:
    names = tuple(tuple(f"{factor}={level}" for level in range(count)) for factor, count in enumerate(counts))
    runs = tuple(product(*map(range, counts)))
    return CrossedDesign(tuple(map(str, range(len(counts)))), names, runs, runs)


def one_hot(runs: tuple[Levels, ...], counts: tuple[int, ...]) -> np.ndarray:
    """Return a column for the mean, for every level and for every pair of levels: far more columns than rank."""
    columns = [np.ones(len(runs))]
    table = np.array(runs)
    for size in (1, 2):
        for factors in combinations(range(len(counts)), size):
            for levels in product(*(range(counts[place]) for place in factors)):
                columns.append((table[:, list(factors)] == levels).all(axis=1).astype(float))
    return np.stack(columns, axis=1)


def mean_difference(one: Contrast, cells: dict[Levels, float]) -> float:
    """Return a main effect or an interaction of a table of all cells, from the means of its levels."""
    level = [int(part.rpartition("=")[2]) for part in one.name.split(" x ")]

    def mean(*at: int) -> float:
        return float(np.mean([value for run, value in cells.items() if tuple(run[f] for f in one.factors) == at]))

    if one.kind == "main":
        return mean(level[0]) - mean(0)
    return mean(*level) - mean(level[0], 0) - mean(0, level[1]) + mean(0, 0)


COUNTS = st.lists(st.integers(2, 3), min_size=2, max_size=4).map(tuple)


@given(COUNTS, st.data(), st.integers(0, 2**16))
def test_contrasts_and_estimability_agree_with_least_squares(
    counts: tuple[int, ...], data: st.DataObject, seed: int
) -> None:
    whole = factorial(counts)
    lost = data.draw(st.sets(st.sampled_from(whole.runs), max_size=len(whole.runs) - 1))
    design = whole.without(lost)
    observed = np.random.default_rng(seed).normal(size=len(design.remaining))
    full, seen = one_hot(whole.runs, counts), one_hot(design.remaining, counts)
    fitted, _, rank, _ = np.linalg.lstsq(seen, observed, rcond=1e-9)
    cells = (
        dict(zip(whole.runs, full @ fitted, strict=True)) if lost else dict(zip(whole.runs, observed, strict=True))
    )
    for one, complete in zip(design.contrasts(), whole.contrasts(), strict=True):
        function = np.array(complete.weights) @ full
        estimable = np.linalg.matrix_rank(np.vstack([seen, function]), tol=1e-6) == rank
        assert estimable == (not one.reason)
        if estimable:
            assert float(np.dot(one.weights, observed)) == pytest.approx(mean_difference(one, cells), abs=1e-8)


@given(COUNTS)
def test_weights_sum_to_zero_and_interactions_are_differences_of_differences(counts: tuple[int, ...]) -> None:
    for one in factorial(counts).contrasts():
        assert sum(one.weights) == pytest.approx(0)
        assert sum(map(abs, one.weights)) == pytest.approx(2 if one.kind == "main" else 4)
