"""Differences on the front page: over seeds and the examples that they were measured on, with their verdicts."""

from collections.abc import Iterator

import pytest

from analysis.difference import Difference
from reports.claims_page import NO_INTERVAL, brief_markdown
from reports.number_format import difference_text
from reports.statistics.dev_examples import difference_over_examples
from reports.statistics.metrics import Metric
from tests.factories.paths import ROOT
from tests.reports.story_values import missing_from, report, table
from tests.reports.test_stories import PUBLISHED

SQUAD, SCORE = Metric("squad_v1_1"), Metric("score")
WIKIPEDIA, SMALL = "table2-wikipedia", "table3_small-laptop_detection"


def over_examples(name: str, arm: str, other: str, metric: Metric) -> Difference:
    found = difference_over_examples(report(name), arm, other, metric)
    assert found is not None
    return found


def differences() -> Iterator[str]:
    for arm in ("span_dynamic", "depthwise"):
        delta, interval = parts(over_examples(WIKIPEDIA, arm, "baseline", SQUAD))
        yield f"{delta} points higher {interval}"
    yield f"F1 +{' '.join(parts(over_examples(WIKIPEDIA, 'span_dynamic', 'dynamic', SQUAD)))}"
    yield f"{' points higher '.join(parts(over_examples(SMALL, 'convbert_small', 'baseline', SCORE)))}, held-out loss"
    loss = report(SMALL).difference("convbert_small", "baseline", Metric("held_out_loss"))
    yield f"held-out loss {difference_text(loss, 4).replace(' [', ' nats [')}"


def parts(found: Difference) -> tuple[str, str]:
    """Return a positive difference without its sign, and its interval."""
    delta, _, interval = difference_text(found, 2).partition(" ")
    return delta.removeprefix("+"), interval


def test_differences_are_over_seeds_and_examples() -> None:
    assert missing_from("README", differences()) == []


def test_both_claims_on_the_small_models_are_supported() -> None:
    assert missing_from("README", ["the report's only two claims, both supported"]) == []
    assert [row["verdict"] for row in table(SMALL, "claims")] == ["supported", "supported"]


@pytest.mark.parametrize("name", [WIKIPEDIA, SMALL])
def test_the_value_over_examples_is_that_of_the_report_and_its_interval_at_least_as_wide(name: str) -> None:
    results = report(name)
    metric = SQUAD if name == WIKIPEDIA else SCORE
    for arm in (each.name for each in results.arms if each.name != "baseline"):
        over, alone = over_examples(name, arm, "baseline", metric), results.difference(arm, "baseline", metric)
        assert over.delta == pytest.approx(alone.delta, abs=0.01)  # examples are kept in half precision
        assert width(over) >= width(alone)


def width(found: Difference) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_a_claim_whose_examples_were_not_kept_has_no_interval() -> None:
    rows = [row for row in brief_markdown(PUBLISHED, ROOT / "experiments").splitlines() if NO_INTERVAL in row]
    assert rows
    assert not any("\\[" in row.split(" | ")[5] for row in rows)
