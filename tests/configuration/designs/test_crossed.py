"""Crossed designs with missing runs: which effects are not estimable, and the warning about it."""

import numpy as np
import pytest

from analysis.contrasts import CrossedDesign
from configuration.designs import Factorial, Fractional
from configuration.designs.crossed import crossed, missing_runs_warning
from search_space.candidate import Candidate

BASELINE = Candidate()
HALF = Fractional(
    vary={"depth": (12, 6), "width": (256, 128), "embedding_width": (128, 64), "feed_forward_width": (1024, 512)},
    resolution=4,
)
GRID = Factorial(vary={"depth": (12, 6, 4), "width": (256, 128), "feed_forward_width": (1024, 512)})


def design_of(design: Factorial | Fractional) -> CrossedDesign:
    found = crossed(design, BASELINE)
    assert found is not None
    return found


def test_with_no_run_missing_every_effect_is_the_plain_contrast() -> None:
    design = design_of(HALF)
    assert (len(design.runs), design.missing, missing_runs_warning(design)) == (8, 0, "")
    assert not design.unbalanced()
    assert not design.correlated()
    for one in design.contrasts():
        weights = np.array(one.weights)
        assert not one.reason
        assert np.abs(weights) == pytest.approx((0.25 if one.kind == "main" else 0.5) * np.ones(8))
    assert [one.name for one in design.contrasts() if one.kind == "main"] == [
        "depth=6",
        "width=128",
        "embedding_width=64",
        "feed_forward_width=512",
    ]
    pairs = [one for one in design.contrasts() if one.kind == "interaction"]
    assert len(pairs) == 3
    assert all(len(one.aliases) == 1 for one in pairs)


def test_a_fraction_with_a_missing_run_reports_effects_that_are_not_estimable() -> None:
    whole = design_of(HALF)  # 8 runs for the mean, 4 main effects and 3 pairs: nothing to spare
    design = whole.without({whole.runs[3]})
    reasons = {one.name: one.reason for one in design.contrasts()}
    assert all(reasons.values())
    assert all("in the 7 of 8 runs that are there" in reason for reason in reasons.values())
    assert missing_runs_warning(design).startswith("1 of 8 runs are impossible and its resolution no longer holds")
    assert set(design.unbalanced()) == set(design.factors)
    assert len(design.correlated()) == 7 * 6 / 2


def test_only_effects_that_average_over_a_missing_level_are_not_estimable() -> None:
    whole = design_of(GRID)
    design = whole.without({run for run in whole.runs if run[0] == 2})
    told_off = [one.name for one in design.contrasts() if one.reason]
    over_it = {"width=128", "feed_forward_width=512"}  # a main effect is the mean over all levels of the others
    assert set(told_off) == {"depth=4", *over_it, *(f"depth=4 x {name}" for name in over_it)}


def test_a_field_of_an_option_crosses_with_nothing() -> None:
    vary = {"convolution": ({"kind": "none"}, {"kind": "dynamic"}), "convolution.kernel_size": (3, 9)}
    assert crossed(Factorial(vary=vary), BASELINE) is None
