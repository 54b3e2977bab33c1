"""Differences on the front page: no interval narrower than a multi-bootstrap over seeds and the examples."""

import shutil
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from analysis.difference import Difference, MeanTest
from analysis.two_way_bootstrap import multi_bootstrap
from reports.claims_page import NO_INTERVAL, brief_markdown
from reports.number_format import difference_text
from reports.paper_claims_file import FILE
from reports.statistics.metrics import Metric
from tests.factories.paths import ROOT
from tests.reports.story_values import missing_from, report, table
from tests.reports.test_stories import PUBLISHED

LOSS, SQUAD, SCORE = Metric("held_out_loss"), Metric("squad_v1_1"), Metric("score")
WIKIPEDIA, SMALL = "table2-wikipedia", "table3_small-laptop_detection"
RESAMPLES, ERROR = 16_000, 0.02
"""Of a bootstrap, and the error that the distance of its percentiles still has."""


def differences() -> Iterator[str]:
    for arm in ("span_dynamic", "depthwise"):
        delta, interval = parts(report(WIKIPEDIA).widest_difference(arm, "baseline", SQUAD))
        yield f"{delta} points higher {interval}"
    yield f"F1 +{' '.join(parts(report(WIKIPEDIA).widest_difference('span_dynamic', 'dynamic', SQUAD)))}"
    score, loss = (report(SMALL).widest_difference("convbert_small", "baseline", each) for each in (SCORE, LOSS))
    yield f"{' points higher '.join(parts(score))}, held-out loss"
    yield f"held-out loss {difference_text(loss, 4).replace(' [', ' nats [')}"
    for arm, decimals in (("span_dynamic", 3), ("depthwise", 3)):
        yield difference_text(report(WIKIPEDIA).widest_difference(arm, "baseline", LOSS), decimals).partition(" ")[2]


def parts(found: Difference) -> tuple[str, str]:
    """Return a positive difference without its sign, and its interval."""
    delta, _, interval = difference_text(found, 2).partition(" ")
    return delta.removeprefix("+"), interval


def test_differences_are_over_seeds_and_examples() -> None:
    assert missing_from("README", differences()) == []


def test_both_claims_on_the_small_models_are_supported() -> None:
    assert missing_from("README", ["the report's only two claims, both supported"]) == []
    assert [row["verdict"] for row in table(SMALL, "claims")] == ["supported", "supported"]


@pytest.mark.parametrize(("name", "metric"), [(WIKIPEDIA, SQUAD), (WIKIPEDIA, LOSS), (SMALL, SCORE), (SMALL, LOSS)])
def test_no_interval_is_narrower_than_the_reports_or_than_a_bootstrap(name: str, metric: Metric) -> None:
    results = report(name)
    (sampled,) = results.examples(metric.name)
    for arm, other in combinations(sampled.by_arm, 2):
        widest, own = results.widest_difference(arm, other, metric), results.difference(arm, other, metric)
        assert widest.delta == own.delta
        assert width(widest) >= width(own)
        if metric != LOSS:  # of 4,096 sequences a bootstrap takes minutes
            values, others = (sampled.by_arm[each].values for each in (arm, other))
            paired = results.test is MeanTest.PAIRED
            found = multi_bootstrap(values, others, paired=paired, resamples=RESAMPLES)
            assert width(widest) >= (1 - ERROR) * (found.high - found.low)


def width(found: Difference) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_a_scale_whose_examples_were_not_kept_counts_only_alone_and_without_intervals(tmp_path: Path) -> None:
    for name in (FILE, "kernel_size-wikipedia/ledger"):
        (shutil.copytree if (PUBLISHED / name).is_dir() else shutil.copy)(PUBLISHED / name, tmp_path / name)
    alone, all_scales = (
        brief_markdown(folder, ROOT / "experiments").splitlines() for folder in (tmp_path, PUBLISHED)
    )
    rows = [row for row in alone if NO_INTERVAL in row]
    assert rows
    assert all("wikipedia" in row and "\\[" not in row.split(" | ")[5] for row in rows)
    assert not any(NO_INTERVAL in row for row in all_scales)
