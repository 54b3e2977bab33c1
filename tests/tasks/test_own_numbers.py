"""What a function of a user's own may return: numbers of Python or numpy that a table can compute with."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.own_metrics import LARGEST, own_numbers


@pytest.mark.parametrize(
    "value", [3, 0.5, -2.0, np.float32(0.5), np.float64(1), np.int64(3), Fraction(1, 2), LARGEST]
)
def test_every_finite_number_is_one(value: Any) -> None:
    assert own_numbers("f:m", lambda: value) == {"m": float(value)}
    assert own_numbers("f:m", lambda: {"a": value}) == {"m.a": float(value)}


REFUSED = [
    math.nan,
    math.inf,
    -math.inf,
    None,
    "3",
    True,
    np.bool_(True),
    1j,
    [1.0],
    np.float64("nan"),
    1e101,
    10**400,
]


@pytest.mark.parametrize("value", [*REFUSED, 10**5000], ids=lambda value: type(value).__name__)
def test_what_is_no_number_or_has_no_variance_is_refused(value: Any) -> None:
    for returned in (value, {"a": value}):
        with pytest.raises(DataError, match=r"f:m: it returned .* a finite number up to 1e\+100"):
            own_numbers("f:m", lambda returned=returned: returned)


def test_a_function_that_raises_is_named_with_its_reason() -> None:
    with pytest.raises(DataError, match="f:m: ZeroDivisionError: division by zero"):
        own_numbers("f:m", lambda: 1 / 0)


@pytest.mark.parametrize("value", [math.nan, np.float32("nan"), np.float64("nan")])
def test_nan_is_a_metric_that_the_predictions_leave_undefined_where_that_may_be(value: Any) -> None:
    (found,) = own_numbers("f:m", lambda: value, may_be_undefined=True).values()
    assert math.isnan(found)
    for wrong in REFUSED:
        if not (isinstance(wrong, float) and math.isnan(wrong)):
            with pytest.raises(DataError, match="a finite number"):
                own_numbers("f:m", lambda wrong=wrong: wrong, may_be_undefined=True)
