"""Error rates, coverage and the order of powers in docs/statistics.md hold in fewer simulated tables."""

from functools import cache

import pytest

from benchmarks.verdict_error_rates import POPULATIONS, Population, Rates, factorial_rates, rates

TABLES = 400
ALARMS = 0.05 + 0.022  # two Monte Carlo standard errors of 400 tables
COVERAGE = 0.93
FEW = [population for population in POPULATIONS if population.seeds == 3]
CONTROLLED = (
    "paired t, Holm over both metrics",
    "Welch, Holm over both metrics",
    "Welch, loss before score",
    "Welch, loss before score, directed",
    "Welch, Bonferroni on the loss alone",
)


@cache
def found(population: Population, with_effects: bool) -> dict[str, Rates]:
    return rates(population, with_effects, TABLES)


@pytest.mark.parametrize("population", FEW, ids=lambda population: population.name)
@pytest.mark.parametrize("with_effects", [False, True])
def test_wrong_verdicts_and_intervals_keep_their_level(population: Population, with_effects: bool) -> None:
    for method in CONTROLLED:
        one = found(population, with_effects)[method]
        assert one.wrong[0] <= ALARMS, method
        for coverage in (one.pointwise, one.simultaneous):
            assert coverage is None or coverage[0] >= COVERAGE, method


def test_welch_before_score_finds_more_than_the_paired_t_over_everything() -> None:
    by_method = found(FEW[0], True)
    power = {name: one.power_loss[0] for name, one in by_method.items() if one.power_loss}
    assert power["Welch, Holm over both metrics"] > 1.3 * power["paired t, Holm over both metrics"]
    assert power["Welch, loss before score"] > 2 * power["paired t, Holm over both metrics"]
    assert power["Welch, loss before score, directed"] > 0.9 * power["Welch, loss before score"]


def test_moderated_variances_exceed_their_level_where_arms_differ_in_variance() -> None:
    (unequal,) = [population for population in FEW if population.unequal]
    assert found(unequal, False)["moderated, loss before score"].wrong[0] > ALARMS


def test_contrasts_of_the_design_find_what_no_single_arm_shows() -> None:
    by_method = factorial_rates(FEW[0], TABLES)
    contrasts, arms = (by_method[f"{name}, Welch, Holm"] for name in ("main effects and interactions", "arm by arm"))
    assert contrasts[1][0] > 5 * arms[1][0]
    assert all(wrong[0] <= ALARMS for wrong, _ in by_method.values())
