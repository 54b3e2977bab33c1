"""Submission files: labels are spelled as in the task's train file."""

import pytest

from tasks.downstream import find_task
from tasks.glue.submission import FILES, table_of
from tests.factories.glue_folders import ANSWERS, GLUE


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
