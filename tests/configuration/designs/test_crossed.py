"""Crossed designs with runs missing: what is told agrees with least squares, and what is not is said with why."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from configuration.designs import Factorial, Fractional
from configuration.designs.crossed import Crossed, crossed
from search_space.candidate import Candidate

BASELINE = Candidate()
HALF = Fractional(
    vary={"depth": (12, 6), "width": (256, 128), "embedding_width": (128, 64), "feed_forward_width": (1024, 512)},
    resolution=4,
)
GRID = Factorial(vary={"depth": (12, 6, 4), "width": (256, 128), "feed_forward_width": (1024, 512)})


def runs_of(design: Factorial | Fractional) -> Crossed:
    found = crossed(design, BASELINE)
    assert found is not None
    return found


def told(runs: Crossed, values: dict[tuple[int, ...], float]) -> dict[str, float]:
    """Return what the runs that are there say of every effect that they tell."""
    return {
        one.name: float(np.dot(one.weights, [values[run] for run in runs.kept]))
        for one in runs.contrasts()
        if not one.reason
    }


def test_with_no_run_missing_every_effect_is_the_plain_contrast() -> None:
    runs = runs_of(HALF)
    assert (len(runs.whole), runs.missing, runs.warning(), runs.unbalanced(), runs.entangled()) == (8, 0, "", (), ())
    for one in runs.contrasts():
        weights = np.array(one.weights)
        assert not one.reason
        assert np.abs(weights) == pytest.approx((0.25 if one.kind == "main" else 0.5) * np.ones(8))
    assert [one.name for one in runs.contrasts() if one.kind == "main"] == [
        "depth=6",
        "width=128",
        "embedding_width=64",
        "feed_forward_width=512",
    ]
    pairs = [one for one in runs.contrasts() if one.kind == "interaction"]
    assert len(pairs) == 3
    assert all(len(one.aliases) == 1 for one in pairs)


@given(st.sets(st.integers(0, 11), max_size=5), st.integers(0, 2**16))
def test_what_is_told_is_what_least_squares_says(missing: set[int], seed: int) -> None:
    whole = runs_of(GRID)
    runs = whole.without({whole.whole[place] for place in missing})
    random = np.random.default_rng(seed)
    main = {
        (place, one): random.normal() for place, labels in enumerate(whole.labels) for one in range(1, len(labels))
    }
    pair = {(a, b): random.normal() for a, b in combinations(main, 2) if a[0] != b[0]}

    def mean(run: tuple[int, ...]) -> float:
        there = [(place, one) for place, one in enumerate(run) if one]
        return 3 + sum(main[each] for each in there) + sum(pair[both] for both in combinations(there, 2))

    planted = {run: mean(run) for run in product(*(range(len(labels)) for labels in whole.labels))}
    found = told(runs, planted)
    assert found == pytest.approx({name: value for name, value in told(whole, planted).items() if name in found})
    parameters = np.linalg.matrix_rank(whole.model)
    if np.linalg.matrix_rank(runs.rows) == parameters:
        assert len(found) == len(whole.effects)
        noisy = {run: value + random.normal() for run, value in planted.items()}
        fitted, *_ = np.linalg.lstsq(runs.rows, [noisy[run] for run in runs.kept], rcond=None)
        expected = {name: float(function @ fitted) for _, name, _, function in runs.effects}
        assert told(runs, noisy) == pytest.approx(expected)
    else:
        assert len(found) < len(whole.effects)


def test_a_fraction_that_lost_a_run_says_what_it_cannot_tell_any_more() -> None:
    whole = runs_of(HALF)  # 8 runs for the mean, 4 main effects and 3 pairs: nothing to spare
    runs = whole.without({whole.whole[3]})
    reasons = {one.name: one.reason for one in runs.contrasts()}
    assert all(reasons.values())
    assert all("in the 7 of 8 runs that are there" in reason for reason in reasons.values())
    assert runs.warning().startswith("1 of 8 runs are impossible and its resolution no longer holds")
    assert set(runs.unbalanced()) == set(runs.factors)
    assert len(runs.entangled()) == 7 * 6 / 2


def test_a_level_that_is_gone_takes_along_what_is_a_mean_over_it_and_no_more() -> None:
    whole = runs_of(GRID)
    runs = whole.without({run for run in whole.whole if run[0] == 2})
    told_off = [one.name for one in runs.contrasts() if one.reason]
    over_it = {"width=128", "feed_forward_width=512"}  # a main effect is the mean over all levels of the others
    assert set(told_off) == {"depth=4", *over_it, *(f"depth=4 x {name}" for name in over_it)}


def test_a_field_of_an_option_crosses_with_nothing() -> None:
    vary = {"convolution": ({"kind": "none"}, {"kind": "dynamic"}), "convolution.kernel_size": (3, 9)}
    assert crossed(Factorial(vary=vary), BASELINE) is None
