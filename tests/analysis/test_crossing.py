"""The crossing of a loss lies where numpy's interpolation over the logarithm of the tokens has it."""

from math import exp, log

import numpy as np
import pytest

from reports.statistics.tokens_to_loss import Censored, Crossing, crossing

CURVE = {100: 6.0, 200: 5.0, 400: 5.5, 800: 3.0}


@pytest.mark.parametrize(
    ("level", "after", "until"), [(5.9, 100, 200), (5.0, 100, 200), (4.9, 400, 800), (3.0, 400, 800)]
)
def test_the_first_crossing_is_interpolated_in_the_logarithm(level: float, after: int, until: int) -> None:
    """A later rise above the level does not move its first crossing."""
    found = crossing(CURVE, level)
    assert isinstance(found, Crossing)
    assert (found.after, found.until) == (after, until)
    expected = exp(np.interp(-level, [-CURVE[after], -CURVE[until]], [log(after), log(until)]))
    assert found.tokens == pytest.approx(expected)


@pytest.mark.parametrize(("level", "before"), [(6.0, 100), (7.0, 100), (2.9, None)])
def test_a_crossing_outside_the_evaluations_is_not_made_up(level: float, before: int | None) -> None:
    """The first evaluation may be below the level already, or none may be."""
    assert crossing(CURVE, level) == Censored(before)
    assert crossing({}, level) == Censored(None)
