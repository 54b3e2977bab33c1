"""Crossed designs with missing runs: which effects are not estimable, and the warning about it."""

from itertools import combinations

import numpy as np
import pytest

from search_space.candidate import Candidate
from steeplechase.analysis.contrasts import CrossedDesign
from steeplechase.configuration.designs import Factorial
from steeplechase.configuration.designs.factorial import crossed, missing_runs_warning

BASELINE = Candidate()
WHOLE = Factorial(vary={"depth": (12, 6), "width": (256, 128), "feed_forward_width": (1024, 512)})
GRID = Factorial(vary={"depth": (12, 6, 4), "width": (256, 128), "feed_forward_width": (1024, 512)})


def design_of(design: Factorial) -> CrossedDesign:
    found = crossed(design, BASELINE)
    assert found is not None
    return found


def test_with_no_run_missing_every_effect_is_the_plain_contrast() -> None:
    design = design_of(WHOLE)
    assert (len(design.runs), design.missing, missing_runs_warning(design)) == (8, 0, "")
    assert not design.unbalanced()
    assert not design.correlated()
    for one in design.contrasts():
        weights = np.array(one.weights)
        assert not one.reason
        assert np.abs(weights) == pytest.approx((0.25 if one.kind == "main" else 0.5) * np.ones(8))
    names = {kind: [one.name for one in design.contrasts() if one.kind == kind] for kind in ("main", "interaction")}
    assert names["main"] == ["depth=6", "width=128", "feed_forward_width=512"]
    assert names["interaction"] == [" x ".join(pair) for pair in combinations(names["main"], 2)]


def test_a_missing_run_is_warned_of_with_what_it_unbalances() -> None:
    whole = design_of(WHOLE)  # 8 runs for the mean, 3 main effects and 3 pairs: one to spare
    design = whole.without({whole.runs[3]})
    assert not any(one.reason for one in design.contrasts())
    assert missing_runs_warning(design).startswith(
        "1 of 8 runs are impossible and the factorial is not full; no longer"
    )
    assert set(design.unbalanced()) == set(design.factors)
    assert len(design.correlated()) == 6 * 5 / 2
    fewer = design.without({whole.runs[0]})
    reasons = {one.name: one.reason for one in fewer.contrasts() if one.reason}
    assert reasons
    assert all("in the 6 of 8 runs that are there" in reason for reason in reasons.values())


def test_only_effects_that_average_over_a_missing_level_are_not_estimable() -> None:
    whole = design_of(GRID)
    design = whole.without({run for run in whole.runs if run[0] == 2})
    told_off = [one.name for one in design.contrasts() if one.reason]
    over_it = {"width=128", "feed_forward_width=512"}  # a main effect is the mean over all levels of the others
    assert set(told_off) == {"depth=4", *over_it, *(f"depth=4 x {name}" for name in over_it)}


def test_a_field_of_an_option_crosses_with_nothing() -> None:
    vary = {"convolution": ({"kind": "none"}, {"kind": "dynamic"}), "convolution.kernel_size": (3, 9)}
    assert crossed(Factorial(vary=vary), BASELINE) is None
