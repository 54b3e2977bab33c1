"""The GLUE score, compared with a published row, and the files of a submission."""

import pytest

from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.glue.scores import FILES, LEADERBOARD, PAPER, PARTS_OF, glue_scores, table_of
from tests.factories.glue_folders import ANSWERS, GLUE

# ConvBERT-Small after 1M updates and ELECTRA-Small: arXiv 2008.02496, Table 3
TASKS = ("mnli", "qnli", "qqp", "rte", "sst2", "mrpc", "cola", "stsb")
ROWS = [
    ((81.5, 88.5, 88.0, 62.2, 89.2, 83.3, 54.8, 83.4), 78.9),
    ((79.7, 87.7, 88.0, 60.8, 89.1, 83.7, 54.6, 80.3), 78.0),
]


@pytest.mark.parametrize(("row", "average"), ROWS)
def test_the_papers_score_is_the_papers_average(row: tuple[float, ...], average: float) -> None:
    assert round(dict(glue_scores(dict(zip(TASKS, row, strict=True))))[PAPER], 1) == average


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


@pytest.mark.parametrize("name", GLUE)
def test_labels_are_spelled_as_in_the_train_file(name: str) -> None:
    task = find_task(name)
    told = (0.0, 2.5, 5.0) if task.value_range else range(len(task.labels))
    lines = table_of(task, [str(number + 7) for number in range(len(told))], list(told)).splitlines()
    assert lines[0] == "index\tprediction"
    assert [line.split("\t")[0] for line in lines[1:]] == [str(number + 7) for number in range(len(told))]
    assert {line.split("\t")[1] for line in lines[1:]} == {*ANSWERS.get(name, ("0", "1"))}


def test_every_submission_file_is_of_an_existing_part() -> None:
    for name, part in FILES:
        files = find_task(name).files
        assert files is not None
        assert part in files.parts
    assert len(set(FILES.values())) == 11
