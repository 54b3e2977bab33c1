"""Tokens to a loss: ratios of geometric means of recorded crossings, by scipy; what is not reached has no ratio."""

from math import exp, log
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reports.document import Report
from reports.report import build
from tests.factories.read_reports import grid_of, picture, rows_of
from tests.factories.reports import TOKENS, Trial, document, snapshot

ARMS: dict[str, dict[str, Any]] = {"baseline": {}, "fast": {"bottleneck_ratio": 2}, "slow": {"bottleneck_ratio": 4}}
BASELINE = (4.0, 4.1, 4.2)
FAST = (3.55, 3.6, 3.65)


def report_of(slow: tuple[float, ...] = (5.0, 4.1, 4.0), fast: tuple[float, ...] = FAST, **more: Any) -> Report:
    losses = {"baseline": BASELINE, "fast": fast, "slow": slow}
    trials = [Trial(arm, seed).pretrained(loss) for arm, of in losses.items() for seed, loss in enumerate(of, 1)]
    return build(snapshot(trials, ARMS, resolved=document(**more)))


def by_arm(report: Report) -> dict[Any, Any]:
    return {row["arm"]: row for row in rows_of(report, "tokens_to_loss")}


def tokens_at(loss: float, end: float) -> float:
    """Tokens of the four evaluations of the factory's curve, which falls by 0.4 from each to the next."""
    tokens = [TOKENS * step / 4 for step in range(1, 5)]
    return exp(np.interp(-loss, [-end - (4 - step) * 0.4 for step in range(1, 5)], np.log(tokens)))


def test_the_default_loss_is_reached_by_every_seed_of_the_baseline() -> None:
    """Ratio, interval and p are those of Welch's test on logarithms, by scipy."""
    rows = by_arm(report_of())
    assert {row["loss"] for row in rows.values()} == {max(BASELINE)}
    own, other = ([log(tokens_at(4.2, end)) for end in of] for of in (FAST, BASELINE))
    expected = stats.ttest_ind(own, other, equal_var=False)
    low, high = map(exp, expected.confidence_interval())
    assert rows["fast"]["tokens_ratio"] == pytest.approx(exp(np.mean(own) - np.mean(other)))
    assert (rows["fast"]["tokens_low"], rows["fast"]["tokens_high"]) == pytest.approx((low, high))
    assert rows["fast"]["p"] == rows["fast"]["p_adjusted"] == pytest.approx(expected.pvalue)
    assert (rows["baseline"]["reached"], rows["slow"]["reached"], rows["slow"]["seeds"]) == (3, 2, 3)
    assert rows["slow"]["tokens"] is rows["slow"]["tokens_ratio"] is None


def test_the_report_says_what_is_reached_and_what_is_not() -> None:
    """The finding, a column of the results and the figure."""
    report = report_of()
    assert "significantly fewer than the baseline's in fast (ratio 0." in report.finding
    assert "this loss is not reached by every seed of slow (2 of 3)" in report.finding
    results = grid_of(report, "results")
    (column,) = (n for n, each in enumerate(results.columns) if each.group == "tokens to a loss of 4.200")
    assert results.rows[2][column].text == "not reached in 1 of 3"
    drawn = picture(report, "ratios_by_loss")
    assert drawn is not None
    assert "<svg" in drawn.svg


def test_a_ratio_beside_one_that_correction_undoes_is_reported_as_that() -> None:
    """Two arms share the 5%: each interval excludes 1, no corrected p is below 0.05."""
    pair = {"baseline": BASELINE, "wide": (3.74, 3.84, 3.94), "deep": (3.735, 3.835, 3.935)}
    arms: dict[str, dict[str, Any]] = {"baseline": {}, "wide": {"width": 512}, "deep": {"depth": 3}}
    trials = [Trial(arm, seed).pretrained(loss) for arm, of in pair.items() for seed, loss in enumerate(of, 1)]
    report = build(snapshot(trials, arms))
    rows = [row for row in rows_of(report, "tokens_to_loss") if row["arm"] != "baseline"]
    assert all(row["tokens_high"] < 1 and row["p_adjusted"] > 0.05 for row in rows)
    assert "from the baseline's in any arm after the correction, the lowest ratio" in report.finding


@pytest.mark.parametrize(("loss", "reached", "before_first"), [(3.5, 0, 0), (4.9, 3, 3), (9.0, 3, 3)])
def test_a_declared_loss_beside_the_evaluations_gives_no_ratio(loss: float, reached: int, before_first: int) -> None:
    """Where no evaluation is at the loss, or the first is already, when it was reached is not known."""
    report = report_of(target_loss=loss)
    row = by_arm(report)["fast"]
    assert (row["reached"], row["before_first"], row["tokens_ratio"]) == (reached, before_first, None)
    assert ("not reached by every seed of baseline (0 of 3), fast (0 of 3)" in report.finding) == (not reached)
    before = "before the first evaluation by seeds of baseline (3 of 3), fast (3 of 3), slow (3 of 3), without"
    assert (before in report.finding) == (before_first == 3 and loss > 5.8)
    assert "a factor of 1 apart" not in "".join(report.notes)


def test_the_finding_names_the_arms_that_reach_the_loss_before_their_first_evaluation() -> None:
    """They have no ratio, so that the lowest one is not theirs although they are the fastest."""
    finding = report_of(slow=(4.05, 4.1, 4.02), fast=(2.9, 2.95, 2.9)).finding
    assert "do not differ significantly from the baseline's in any arm, the lowest ratio is that of slow" in finding
    assert "this loss is reached before the first evaluation by seeds of fast (3 of 3), without a ratio" in finding
