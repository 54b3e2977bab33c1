"""The story of the objective on two segments has the numbers of its report and of the one it refers to."""

from collections.abc import Iterator

import pytest

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

STORY = "The objective on two segments at scale `laptop`, "
STORIES = {"albert_table5-laptop": f"{STORY}ALBERT", "albert_table5-laptop-former": f"{STORY}the former rate"}
NAME, FORMER = STORIES
DECIMALS = {NAME: {HELD_OUT_LOSS: 3, "score": 2}, FORMER: {HELD_OUT_LOSS: 2, "score": 1}}
ARMS = {
    "baseline": "`baseline`: sentence order",
    "next_sentence": "`next_sentence`",
    "none": "`none`: masked tokens alone",
}
PLATEAU = 5.75


def rows(name: str) -> Iterator[str]:
    """Yield the rows of the story's table; the former one has the number of seeds that left the plateau."""
    effects = {(row["arm"], row["metric"]): row for row in table(name, "effects")}
    of_loss, of_score = DECIMALS[name].values()
    for arm, label in ARMS.items():
        loss, score = values(name, arm), values(name, arm, "score")
        left = [str(sum(value < PLATEAU for value in loss))] if name == FORMER else []
        shown = [
            difference_in(effects[arm, metric], decimals) if arm != "baseline" else "–"
            for metric, decimals in DECIMALS[name].items()
        ]
        cells = [mean_and_deviation(loss, of_loss), shown[0], *left, mean_and_deviation(score, of_score), shown[1]]
        yield f"| {label} | {' | '.join(cells)} |"


def departures(folder: str) -> Iterator[tuple[str, int | None, int]]:
    """Yield each trial's arm, the tokens of its first loss below the plateau, and its tokens in all."""
    for record in read_export(PUBLISHED / folder).records():
        if isinstance(record.result, PretrainResult):
            points = list(finite_points(record.result.held_out_curve))
            left = next((tokens for tokens, loss in points if loss < PLATEAU), None)
            yield str(record.trial).rpartition("/")[0], left, points[-1][0]


@pytest.mark.parametrize("name", STORIES)
def test_the_table_has_the_numbers_of_the_report(name: str) -> None:
    assert missing_from(STORIES[name], rows(name)) == []


@pytest.mark.parametrize("name", STORIES)
def test_the_verdicts_on_the_paper_are_those_of_the_claims(name: str) -> None:
    assert missing_from(STORIES[name], claims_shown(name, DECIMALS[name])) == []


def test_all_models_leave_the_plateau_at_the_lower_rate() -> None:
    losses = [loss for arm in ARMS for loss in values(NAME, arm)]
    assert len(losses) == 15
    assert max(losses) < PLATEAU
    assert missing_from(STORIES[NAME], [f"All 15 models leave the plateau and end at {span(losses)} nats"]) == []


def test_the_losses_on_and_off_the_plateau_are_those_of_the_models() -> None:
    losses = [loss for arm in ARMS for loss in values(FORMER, arm)]
    stayed, left = [x for x in losses if x > PLATEAU], [x for x in losses if x < PLATEAU]
    assert (len(stayed), len(left)) == (12, 3)
    assert missing_from(STORIES[FORMER], [f"end at {span(stayed)} nats", f"end at {span(left)}"]) == []


def seeds_to_decide(name: str, arm: str) -> str:
    return next(
        r["seeds_to_decide"] for r in table(name, "effects") if (r["arm"], r["metric"]) == (arm, HELD_OUT_LOSS)
    )


def test_the_seeds_needed_are_those_of_the_report() -> None:
    assert missing_from(STORIES[FORMER], [f"would need {seeds_to_decide(FORMER, 'next_sentence')} seeds"]) == []
    needed = [seeds_to_decide(NAME, arm) for arm in ("none", "next_sentence")]
    assert missing_from(STORIES[NAME], [f"{needed[0]} seeds would decide", f"power, {needed[1]} that to"]) == []


def test_the_papers_difference_lies_inside_the_interval() -> None:
    (row,) = [row for row in table(NAME, "claims") if row["claim"] == "score(baseline) > score(next_sentence)"]
    printed = {row["arm"]: float(row["paper"]) for row in table(NAME, "paper") if row["measure"] == "score"}
    paper, high = printed["baseline"] - printed["next_sentence"], float(row["high"])
    assert paper < high
    expected = [f"above {high:.1f} points lies outside", f"{paper:.1f} points", "80.1 against 79.2"]
    assert missing_from(STORIES[NAME], expected) == []


def test_models_that_leave_the_plateau_do_so_in_the_first_quarter() -> None:
    found = [(left, end) for _, left, end in departures(FORMER) if left is not None]
    assert len(found) == 3
    assert all(left < 1e6 <= end / 4 for left, end in found)


def test_single_tokens_are_predicted_early_by_every_seed_of_the_same_architecture() -> None:
    found = [left for arm, left, _ in departures("albert_sharing-laptop") if arm == "all"]
    assert len(found) == 5
    assert all(left is not None and left <= 0.4e6 for left in found)
    ours, theirs = (
        next(found.candidate for found in read_export(PUBLISHED / folder).arms() if found.name == arm)
        for folder, arm in ((FORMER, "none"), ("albert_sharing-laptop", "all"))
    )
    assert ours.architecture == theirs.architecture
    assert ours.recipe == theirs.recipe
    assert ours.objective != theirs.objective
