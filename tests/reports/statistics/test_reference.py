"""Tests against chance: the one-sided t agrees with scipy; the score's chance is the mean over its tasks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ledger.records import Record
from ledger.snapshot import Snapshot
from reports.statistics.metrics import Metric
from reports.statistics.reference import above_chance, chance_of, exceeds_p
from reports.statistics.results import Results, results_of
from tests.factories.reports import examples_record, snapshot, table2


def results(view: Snapshot) -> Results:
    return results_of(view, lambda task: "accuracy")


@given(st.lists(st.integers(-400, 400), min_size=2, max_size=9, unique=True), st.integers(-300, 300))
def test_the_test_against_chance_is_scipys(values: list[int], chance: int) -> None:
    sample, reference = [value / 4 for value in values], chance / 4
    expected = stats.ttest_1samp(sample, reference, alternative="greater").pvalue
    assert exceeds_p(sample, reference) == pytest.approx(expected, abs=1e-9)


def test_without_variance_or_with_one_seed_there_is_no_p() -> None:
    assert exceeds_p([60.0, 60.0, 60.0], 50.0) is None
    assert exceeds_p([60.0], 50.0) is None


def test_chance_on_the_score_is_the_mean_over_tasks_and_unknown_if_one_is() -> None:
    measured = results(table2())
    assert chance_of(measured, Metric("score")) == 50.0
    assert chance_of(measured, Metric("docs_pair")) == 50.0
    assert chance_of(measured, Metric("held_out_loss")) is None
    assert above_chance(measured, Metric("held_out_loss")) is None
    view = table2()
    missing = snapshot([], tasks=("docs_pair",)).shared[:1]
    partly: tuple[Record, ...] = (*missing, examples_record("docs_pair"))
    without = results(Snapshot(**{**vars(view), "shared": partly}))
    assert chance_of(without, Metric("score")) is None
    assert above_chance(without, Metric("score")) is None
