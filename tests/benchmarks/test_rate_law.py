"""The rate-aware law: what generated curves is recovered, in any unit, and more annealing never raises a forecast."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.rate_law import EXPONENTS, Path, RateLaw, sums_and_areas

UPDATES = 2000
PLACES = np.linspace(0, UPDATES - 1, 9).round().astype(int)[1:]
EXPONENT = float(EXPONENTS[20])


def rates(end: float = 0.0) -> np.ndarray:
    return np.minimum(1.0, np.arange(1, UPDATES + 1) / 50) * np.linspace(1.0, end, UPDATES)


def path(floor: float, scale: float, gain: float, by: np.ndarray) -> Path:
    sums, areas = (values[PLACES] for values in sums_and_areas(by))
    return Path(sums, areas, floor + scale * sums**-EXPONENT - gain * areas)


@given(st.floats(1, 4), st.floats(0.1, 2), st.floats(0.0, 2))
def test_a_generated_law_is_recovered_and_its_hidden_end_foretold(floor: float, scale: float, gain: float) -> None:
    others = [path(floor + n / 10, scale * (1 + n / 5), gain, rates()) for n in range(3)]
    law = RateLaw.fit(others)
    assert (law.exponent, law.gain) == pytest.approx((EXPONENT, gain), abs=1e-6)
    whole = path(floor, scale, gain, rates())
    end = law.end(whole.between(0, 5), float(whole.sums[-1]), float(whole.areas[-1]))
    assert end == pytest.approx(float(whole.losses[-1]), abs=1e-6)


@given(st.floats(1e-6, 1e3))
def test_the_unit_of_the_rate_changes_nothing(unit: float) -> None:
    for found, expected in zip(sums_and_areas(unit * rates()), sums_and_areas(rates()), strict=True):
        assert found == pytest.approx(expected)


def test_a_constant_rate_has_no_annealing_and_a_falling_one_more_and_more() -> None:
    sums, areas = sums_and_areas(np.ones(UPDATES))
    assert not areas.any()
    assert sums == pytest.approx(np.arange(1, UPDATES + 1) / UPDATES)
    areas = sums_and_areas(rates())[1]
    assert (np.diff(areas) >= 0).all()


def test_more_annealing_never_raises_the_forecast() -> None:
    law, seen = RateLaw(0.5, 0.3), path(2.0, 0.5, 0.3, rates()).between(0, 5)
    ends = [law.end(seen, 0.5, area) for area in (0.0, 0.2, 0.6)]
    assert ends == sorted(ends, reverse=True)


def test_a_gain_is_never_negative() -> None:
    assert RateLaw.fit([path(2.0 + n, 1.0, -1.0, rates()) for n in range(3)]).gain == 0
