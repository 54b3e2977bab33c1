"""The hub's rows give the questions of the official files, with the same checks."""

from pathlib import Path
from typing import Any

import pytest

from foundation.errors import DataError
from tasks.downstream import find_task
from tasks.fetched_tasks import FetchedTasks
from tasks.labelled.task import Version
from tasks.splits import LoadedSplit
from tasks.squad.files import CONFIGURATION, squad_file
from tasks.squad.questions import SquadFile, read_squad
from tasks.squad.rows import COLUMNS, read_rows
from tests.factories.published_data import published

TEXT = "The Normans gave their name to Normandy."


def columns_of(file: SquadFile) -> dict[str, list[Any]]:
    """Return questions as the hub's columns, answers as two lists of equal length."""
    return {
        "id": [each.identifier for each in file.questions],
        "title": [each.article for each in file.questions],
        "context": [each.context for each in file.questions],
        "question": [each.text for each in file.questions],
        "answers": [
            {"text": [one.text for one in each.answers], "answer_start": [one.start for one in each.answers]}
            for each in file.questions
        ],
    }


def rows(*asked: tuple[str, Any]) -> LoadedSplit:
    values = [(identifier, "Normandy", TEXT, "Who?", answers) for identifier, answers in asked]
    return LoadedSplit({name: [row[place] for row in values] for place, name in enumerate(COLUMNS)})


@pytest.mark.parametrize("version", ["v1.1", "v2.0"])
def test_rows_of_the_hub_give_the_questions_of_the_official_file(version: Version) -> None:
    official = read_squad(squad_file(published("squad"), version, "dev"), version)
    assert read_rows(LoadedSplit(columns_of(official)), version, official.name) == official


@pytest.mark.parametrize("version", ["v1.1", "v2.0"])
def test_fetched_parquet_gives_the_questions_of_the_official_file(version: Version, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the extra `datasets`")
    official = read_squad(squad_file(published("squad"), version, "dev"), version)
    (tmp_path / CONFIGURATION[version]).mkdir()
    for split in ("train", "validation"):
        table = datasets.Dataset.from_dict(columns_of(official))
        table.to_parquet(str(tmp_path / CONFIGURATION[version] / f"{split}.parquet"))
    files = find_task("squad_v1_1" if version == "v1.1" else "squad_v2_0").files
    assert files is not None
    assert FetchedTasks(tmp_path).questions(files, "dev", version).questions == official.questions


def test_a_question_without_answers_belongs_to_the_second_version() -> None:
    split = rows(("one", {"text": ["Normans"], "answer_start": [4]}), ("two", {"text": [], "answer_start": []}))
    assert [each.answerable for each in read_rows(split, "v2.0", "dev").questions] == [True, False]
    with pytest.raises(DataError, match=r"dev: data\[0\].paragraphs\[0\].qas\[1\] \(question two\): no answers"):
        read_rows(split, "v1.1", "dev")


@pytest.mark.parametrize(
    "answers", [None, "Normans", {"text": ["Normans"], "answer_start": []}, {"text": [3], "answer_start": [4]}]
)
def test_answers_of_another_form_are_refused_by_their_question(answers: object) -> None:
    with pytest.raises(DataError, match="question one"):
        read_rows(rows(("one", answers)), "v1.1", "dev")


def test_missing_columns_are_reported() -> None:
    with pytest.raises(DataError, match="dev: no column 'answers'; found are 'id', 'title', 'context', 'question'"):
        read_rows(LoadedSplit({name: [] for name in COLUMNS[:-1]}), "v1.1", "dev")
