"""Error rates, coverage and the order of powers in docs/statistics.md hold in fewer simulated tables."""

import pytest

from benchmarks.error_rates import (
    ALONE,
    ANSWERS,
    GATE,
    POPULATIONS,
    WIDER,
    Answers,
    Population,
    example_rates,
    verdict_rates,
)
from steeplechase.analysis.difference import ALPHA

TABLES = 200
ALARMS = 0.05 + 0.031  # two Monte Carlo standard errors of 200 tables
FEW = [population for population in POPULATIONS if population.seeds == 3]


@pytest.mark.parametrize("population", FEW, ids=lambda population: population.name)
@pytest.mark.parametrize("with_effects", [False, True])
def test_wrong_verdicts_and_intervals_keep_their_level(population: Population, with_effects: bool) -> None:
    for method, found in verdict_rates(population, with_effects, TABLES).items():
        assert found.wrong[0] <= ALARMS, method
        assert found.coverage[0] >= 0.93, method


def test_the_gate_finds_more_than_the_paired_t_over_everything() -> None:
    found = verdict_rates(FEW[0], True, TABLES)
    assert found[GATE].power_loss[0] > 2 * found["paired t, Holm over both metrics"].power_loss[0]


@pytest.mark.parametrize("answers", ANSWERS, ids=lambda answers: answers.name)
def test_over_seeds_and_examples_no_difference_is_found_more_often_than_its_level(answers: Answers) -> None:
    ((rate, _),) = example_rates(answers, 3, 0.0, (ALPHA,), TABLES)[WIDER]
    assert rate <= ALARMS


def test_over_seeds_alone_arms_differ_that_do_not() -> None:
    (varying,) = (answers for answers in ANSWERS if answers.name == "examples vary")
    ((rate, _),) = example_rates(varying, 5, 0.0, (ALPHA,), TABLES)[ALONE]
    assert rate > 0.2
