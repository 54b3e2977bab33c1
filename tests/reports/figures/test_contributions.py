"""The figure of Shapley values shows the table's rows on the headline metrics."""

from collections.abc import Callable
from pathlib import Path

import pytest

from configuration.designs import Coalitions, KeepOne
from reports.figures.contributions import FIGURE, Contributions
from reports.figures.interval_panels import draw, draw_narrow
from reports.figures.matplotlib_style import Figure, svg_text
from reports.sections.shapley import shapley_table
from reports.statistics.evidence import Evidence
from reports.statistics.shapley import WHOLE
from tests.factories.component_ledgers import results_with

PARTS = {"narrow": {"bottleneck_ratio": 2}, "mixed": {"convolution": "span_dynamic"}}


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return Evidence(results_with(tmp_path, [Coalitions(components=PARTS)]))


def test_it_has_the_rows_of_the_table_on_headline_metrics(evidence: Evidence) -> None:
    picture = FIGURE.picture_of(evidence)
    assert picture is not None
    assert evidence.shapley_values is not None
    headlines = [metric.name for metric in evidence.results.headlines]
    rows = [row for row in shapley_table(evidence.shapley_values).rows if row["metric"] in headlines]
    assert list(picture.numbers.rows) == rows
    assert len(rows) == len(headlines) * (len(PARTS) + 1)


@pytest.mark.parametrize("drawing", [draw, draw_narrow])
def test_every_change_and_their_sum_are_lines(evidence: Evidence, drawing: Callable[[Contributions], Figure]) -> None:
    picture = FIGURE.picture_of(evidence)
    assert picture is not None
    svg = svg_text(lambda: drawing(picture.data))
    for name in (*PARTS, WHOLE):
        assert svg.count(f">{name}<") == len(evidence.results.headlines)


def test_changes_that_were_not_made_together_have_none(tmp_path: Path) -> None:
    assert FIGURE.picture_of(Evidence(results_with(tmp_path, [KeepOne(components=PARTS)]))) is None
