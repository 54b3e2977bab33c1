"""The predicted seconds of a stage contain what it takes, for every start-up and every pace."""

from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from runners.cost_estimate.past_runs import Measured
from runners.cost_estimate.prediction import Range, _cost

SIZES = st.floats(1e9, 1e18)


def measured(operations: float, seconds: float) -> Measured:
    return Measured("pretrain", "cpu", operations, seconds, 1000, None)


def predicted_seconds(measured_sizes: list[float], size: float, start: float, pace: float) -> Range:
    return _cost([measured(each, start + each / pace) for each in measured_sizes], size, 1000)[0]


@given(st.lists(SIZES, min_size=1, max_size=40), SIZES, st.floats(0, 100), st.floats(1e8, 1e15))
def test_the_bounds_contain_the_truth_of_a_stage_with_a_start_up(
    sizes: list[float], size: float, start: float, pace: float
) -> None:
    found, truth = predicted_seconds(sizes, size, start, pace), start + size / pace
    if found.low is None or found.high is None:
        assert any(isclose(size, each, rel_tol=1e-6) for each in sizes)
        assert abs(found.middle - truth) <= 1e-6 * truth
    else:
        assert found.low * (1 - 1e-6) <= truth <= found.high * (1 + 1e-6)
        assert found.low <= found.middle <= found.high


def test_short_stages_give_wide_bounds_and_two_sizes_the_start_up() -> None:
    """1 s of start-up and 0.2 s of training, then a stage of 300 times the FLOPs: 61 s, and not 360 s."""
    short = predicted_seconds([2e9] * 6, 6e11, 1.0, 1e10)
    assert (short.is_wide, short.low, short.high) == (True, 1.2, 360.0)
    both = predicted_seconds([2e9] * 6 + [2e11] * 6, 6e11, 1.0, 1e10)
    assert abs(both.middle - 61.0) < 1e-6
    assert not both.is_wide
