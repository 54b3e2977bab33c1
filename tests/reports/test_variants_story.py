"""The story of Table 2's variants has the numbers of its report."""

from collections.abc import Iterator

from configuration.metrics import SCORE
from reports.statistics.metrics import Metric
from tests.reports.story_values import LOSS, difference_in, missing_from, report, signed, table

NAME, STORY = "table2_variants-laptop", "Table 2 with the gated linear unit"


def claims() -> Iterator[str]:
    for row in table(NAME, "claims"):
        yield f"| {row['verdict']}: Δ {difference_in(row, 3 if row['metric'] == LOSS.name else 2)} |"


def test_the_claims_are_those_of_the_report() -> None:
    assert missing_from(STORY, claims()) == []


def numbers() -> Iterator[str]:
    arms = [arm.name for arm in report(NAME).arms if arm.name != "baseline"]
    loss, score = (
        max(report(NAME).comparison(arm, metric).p_adjusted or 0.0 for arm in arms)
        for metric in (LOSS, Metric(SCORE))
    )
    yield f"is at most {loss:.4f} on loss and {score:.3f} on the score"
    gaps = {row["arm"]: row for row in table(NAME, "aligned_gaps")}
    for arm, place in (("dynamic_glu", "for dynamic"), ("span_dynamic_full", "for span-based")):
        delta, low, high = (float(gaps[arm][f"{part}_rate"]) for part in ("delta", "low", "high"))
        yield f"−{abs(delta):.3f} {signed(low, high)} {place}"
    size = {arm.name: arm.parameters for arm in report(NAME).arms}
    more = [size[f"{arm}_full"] / size[arm] - 1 for arm in ("dynamic_glu", "span_dynamic")]
    assert {f"{share:.0%}" for share in more} == {"14%"}
    yield "for 14% more parameters"


def test_the_numbers_of_the_text_follow_from_the_rows() -> None:
    assert missing_from(STORY, numbers()) == []
