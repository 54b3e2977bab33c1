"""The GLUE score, compared with a published row; no task may be missing."""

import pytest

from tasks.glue.scores import LEADERBOARD, PAPER, PARTS_OF, glue_scores

# ConvBERT-Small after 1M updates and ELECTRA-Small: arXiv 2008.02496, Table 3
ROWS = [
    (
        {
            "mnli": 81.5,
            "qnli": 88.5,
            "qqp": 88.0,
            "rte": 62.2,
            "sst2": 89.2,
            "mrpc": 83.3,
            "cola": 54.8,
            "stsb": 83.4,
        },
        78.9,
    ),
    (
        {
            "mnli": 79.7,
            "qnli": 87.7,
            "qqp": 88.0,
            "rte": 60.8,
            "sst2": 89.1,
            "mrpc": 83.7,
            "cola": 54.6,
            "stsb": 80.3,
        },
        78.0,
    ),
]


@pytest.mark.parametrize(("row", "average"), ROWS)
def test_the_papers_score_is_the_papers_average(row: dict[str, float], average: float) -> None:
    assert round(dict(glue_scores(row))[PAPER], 1) == average


def test_the_leaderboard_takes_the_mean_of_a_tasks_metrics_first() -> None:
    parts = [part for of_task in PARTS_OF[LEADERBOARD].values() for part in of_task]
    values = dict.fromkeys(parts, 50.0)
    assert dict(glue_scores(values | {"mrpc": 80.0}))[LEADERBOARD] == pytest.approx(50 + 30 / 2 / 9)
    assert dict(glue_scores(values | {"cola": 80.0}))[LEADERBOARD] == pytest.approx(50 + 30 / 9)


def test_no_score_with_a_missing_task() -> None:
    whole = {part: 1.0 for tasks in PARTS_OF.values() for parts in tasks.values() for part in parts}
    assert {*dict(glue_scores(whole))} == {PAPER, LEADERBOARD}
    for left_out in whole:
        found = dict(glue_scores({part: value for part, value in whole.items() if part != left_out}))
        assert found.keys() == {
            score for score, tasks in PARTS_OF.items() if all(left_out not in parts for parts in tasks.values())
        }
