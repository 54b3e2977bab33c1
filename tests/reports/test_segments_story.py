"""The story of the objective on two segments has the numbers of its report and of the one it refers to."""

from collections.abc import Iterator

from configuration.metrics import HELD_OUT_LOSS
from ledger.csv_export import read_export
from ledger.stage_results import PretrainResult, finite_points
from tests.reports.story_values import (
    claims_shown,
    difference_in,
    mean_and_deviation,
    missing_from,
    span,
    table,
    values,
)
from tests.reports.test_stories import PUBLISHED

NAME, STORY = "albert_table5-laptop", "The objective on two segments"
ARMS = {
    "baseline": "`baseline`: sentence order",
    "next_sentence": "`next_sentence`",
    "none": "`none`: masked tokens alone",
}
PLATEAU = 5.75


def rows() -> Iterator[str]:
    """Yield the rows of the story's table."""
    effects = {(row["arm"], row["metric"]): row for row in table(NAME, "effects")}
    for arm, label in ARMS.items():
        loss, score = values(NAME, arm), values(NAME, arm, "score")
        left = sum(value < PLATEAU for value in loss)
        shown = [
            difference_in(effects[arm, metric], decimals) if arm != "baseline" else "–"
            for metric, decimals in ((HELD_OUT_LOSS, 2), ("score", 1))
        ]
        cells = mean_and_deviation(loss, 2), shown[0], str(left), mean_and_deviation(score, 1), shown[1]
        yield f"| {label} | {' | '.join(cells)} |"


def departures(folder: str) -> Iterator[tuple[str, int | None, int]]:
    """Yield each trial's arm, the tokens of its first loss below the plateau, and its tokens in all."""
    for record in read_export(PUBLISHED / folder).records():
        if isinstance(record.result, PretrainResult):
            points = list(finite_points(record.result.held_out_curve))
            left = next((tokens for tokens, loss in points if loss < PLATEAU), None)
            yield str(record.trial).rpartition("/")[0], left, points[-1][0]


def test_the_table_has_the_numbers_of_the_report() -> None:
    assert missing_from(STORY, rows()) == []


def test_the_verdicts_on_the_paper_are_those_of_the_claims() -> None:
    assert missing_from(STORY, claims_shown(NAME, {"score": 1})) == []


def test_the_losses_on_and_off_the_plateau_are_those_of_the_models() -> None:
    losses = [loss for arm in ARMS for loss in values(NAME, arm)]
    stayed, left = [x for x in losses if x > PLATEAU], [x for x in losses if x < PLATEAU]
    assert (len(stayed), len(left)) == (12, 3)
    assert missing_from(STORY, [f"end at {span(stayed)} nats", f"end at {span(left)}"]) == []


def test_the_seeds_needed_are_those_of_the_report() -> None:
    (row,) = [r for r in table(NAME, "effects") if (r["arm"], r["metric"]) == ("next_sentence", HELD_OUT_LOSS)]
    assert missing_from(STORY, [f"would need {row['seeds_to_decide']} seeds"]) == []


def test_models_that_leave_the_plateau_do_so_in_the_first_quarter() -> None:
    found = [(left, end) for _, left, end in departures(NAME) if left is not None]
    assert len(found) == 3
    assert all(left < 1e6 <= end / 4 for left, end in found)


def test_single_tokens_are_predicted_early_by_every_seed_of_the_same_architecture() -> None:
    found = [left for arm, left, _ in departures("albert_sharing-laptop") if arm == "all"]
    assert len(found) == 5
    assert all(left is not None and left <= 0.4e6 for left in found)
    ours, theirs = (
        next(found.candidate for found in read_export(PUBLISHED / folder).arms() if found.name == arm)
        for folder, arm in ((NAME, "none"), ("albert_sharing-laptop", "all"))
    )
    assert ours.architecture == theirs.architecture
    assert ours.recipe == theirs.recipe
    assert ours.objective != theirs.objective
