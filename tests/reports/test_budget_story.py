"""The story of the pretraining budget has the means and gaps of its report."""

from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean

from configuration.metrics import HELD_OUT_LOSS
from tests.reports.story_values import differences, mean_and_deviation, missing_from, signed, story, table, values

NAME, STORY = "budget-wikipedia", "The pretraining budget"
BUDGETS = {8: "_0.5x", 16: "", 32: "_2x", 64: "_4x"}
"""Million tokens of a run, and the ending of its arms' names."""
F1 = "squad_v1_1"


def shown(arm: str, metric: str, decimals: int) -> str:
    return mean_and_deviation(values(NAME, arm, metric), decimals)


def gap(ending: str) -> float:
    return fmean(differences(NAME, f"span_dynamic{ending}", f"baseline{ending}"))


def rows() -> Iterator[str]:
    """Yield the rows of the story's table, the gap and its interval as the report has them."""
    gaps = table(NAME, "gap_by_budget")
    reported = {int(row["tokens"]): row for row in gaps if row["architecture"] == "span_dynamic"}
    for millions, ending in BUDGETS.items():
        arms = f"baseline{ending}", f"span_dynamic{ending}"
        row = reported[millions * 10**6]
        assert abs(float(row["delta"]) - gap(ending)) < 1e-6
        losses = " | ".join(shown(arm, HELD_OUT_LOSS, 3) for arm in arms)
        unit = " nats" if millions == min(BUDGETS) else ""
        interval = signed(float(row["low"]), float(row["high"]))
        yield f"| {millions}M | {losses} | {gap(ending):+.3f}{unit} {interval} |".replace("-", "−")
        yield " | ".join(shown(arm, F1, 2) for arm in arms)


def test_the_table_has_the_means_and_gaps_of_the_report() -> None:
    assert missing_from(STORY, rows()) == []


def test_every_doubling_leaves_less_than_half_of_the_gap() -> None:
    shares = [gap(after) / gap(before) for before, after in pairwise(BUDGETS.values())]
    assert max(shares) < 0.5
    first, second, third = (f"{share:.0%}" for share in shares)
    assert f"less than half of the gap: {first}, {second} and {third} of it" in story(STORY)


def test_attention_alone_has_not_left_its_plateau_at_the_smallest_budget() -> None:
    exits = {row["arm"]: (int(row["exits"]), int(row["never_left"])) for row in table(NAME, "aligned_gaps")}
    assert exits["baseline_0.5x"] == (0, 3)
    assert all(exits[f"span_dynamic{ending}"] == (3, 0) for ending in BUDGETS.values())
    assert "At 8M tokens attention alone has not left its plateau in any seed" in story(STORY)


def test_the_answers_of_span_based_convolution_do_not_follow_its_loss() -> None:
    means = [fmean(values(NAME, f"span_dynamic{ending}", F1)) for ending in BUDGETS.values()]
    assert f"it is {min(means):.1f} to {max(means):.1f} at every budget" in story(STORY)
