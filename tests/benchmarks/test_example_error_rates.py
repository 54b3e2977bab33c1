"""Error rates and the order of powers in docs/statistics.md hold in fewer simulated differences."""

from functools import cache

import pytest

from benchmarks.example_error_rates import DECIDES, POPULATIONS, STANDARD_ERRORS, Population, Rates, rates

TABLES = 400
ALARMS = 0.05 + 0.022  # two Monte Carlo standard errors of 400 differences
ALONE, SAFEST = "Welch's t over seeds alone", "larger error, fewer degrees"
BY_NAME = {population.name: population for population in POPULATIONS}


@cache
def found(population: Population, seeds: int, shift: float) -> Rates:
    return rates(population, seeds, shift, TABLES)


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("population", POPULATIONS, ids=lambda population: population.name)
def test_what_decides_finds_no_difference_more_often_than_its_level(population: Population, seeds: int) -> None:
    assert found(population, seeds, 0.0)[DECIDES][0][0] <= ALARMS


def test_over_seeds_alone_arms_differ_that_do_not() -> None:
    assert found(BY_NAME["examples vary"], 5, 0.0)[ALONE][0][0] > 0.2


def test_what_decides_finds_more_than_the_larger_error_with_the_fewer_degrees() -> None:
    for name in ("examples vary", "both vary", "answers, both vary"):
        by_method = found(BY_NAME[name], 3, STANDARD_ERRORS)
        assert by_method[DECIDES][1][0] > 10 * by_method[SAFEST][1][0]
