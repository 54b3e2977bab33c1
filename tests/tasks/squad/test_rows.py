"""SQuAD's rows from the hub and from parquet, and its command of scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.dataset_folder import FetchedTasks
from steeplechase.tasks.downstream.squad import score_files
from steeplechase.tasks.labelled.task import Version
from steeplechase.tasks.splits import LoadedSplit
from steeplechase.tasks.squad.files import CONFIGURATION
from steeplechase.tasks.squad.questions import COLUMNS, SquadFile, read_rows
from tests.factories.published_data import published
from tests.factories.squad_files import document, official, question, write
from tests.factories.task_files import files_of

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


def test_rows_of_the_hub_give_the_questions_of_the_official_file() -> None:
    file = official("v1.1")
    assert read_rows(LoadedSplit(columns_of(file)), "v1.1", file.name) == file


def test_fetched_parquet_gives_the_questions_of_the_official_file(tmp_path: Path) -> None:
    version: Version = "v2.0"
    datasets = pytest.importorskip("datasets", reason="needs the extra `datasets`")
    (tmp_path / CONFIGURATION[version]).mkdir()
    for split in ("train", "validation"):
        table = datasets.Dataset.from_dict(columns_of(official(version)))
        table.to_parquet(str(tmp_path / CONFIGURATION[version] / f"{split}.parquet"))
    found = FetchedTasks(tmp_path).questions(files_of("squad_v2_0"), "dev", version)
    assert found.questions == official(version).questions


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


SUBSET_TEXT = "The Normans gave their name to Normandy."


def test_missing_and_ignored_predictions_are_reported() -> None:
    squad = published("squad")
    scored = score_files("v1.1", squad, squad / "predictions/v1.1/logistic_regression_baseline.json")
    assert scored.metrics["f1"] == pytest.approx(50.981536473244724)
    assert len(scored.remarks) == 2
    assert "no prediction for 13 of 10570 questions, which score 0: " in scored.remarks[0]
    assert scored.remarks[0].endswith("and 10 more")
    assert scored.remarks[1].endswith("28 predictions are of questions that are not in dev-v1.1.json; ignored")


def test_a_subset_file_is_named_and_null_odds_are_read(tmp_path: Path) -> None:
    asked = [question("a", "Who?", ("Normans", 4), impossible=False), question("b", "Why?", impossible=True)]
    (folder := tmp_path / "squad").mkdir()  # within the data folder
    data = write(folder, document((SUBSET_TEXT, asked)), "dev-v2.0.cut.json")
    texts = write(tmp_path, {"a": "Normans", "b": "Normandy"}, "texts.json")
    odds = write(tmp_path, {"a": -3.0, "b": 2.0}, "odds.json")
    scored = score_files("v2.0", tmp_path, texts, odds)
    assert scored.remarks == (f"{data.name}: not dev-v2.0.json; 2 questions",)
    expected = {"exact": 100.0, "f1": 100.0, "total": 2, "best_exact": 100.0, "best_exact_thresh": -3.0}
    assert {name: scored.metrics[name] for name in expected} == expected
    assert score_files("v2.0", data, texts).metrics["exact"] == 50.0
    json.dumps(dict(scored.metrics))


def test_files_of_the_wrong_kind_are_refused(tmp_path: Path) -> None:
    data = write(tmp_path, document((SUBSET_TEXT, [question("a", "Who?", ("Normans", 4))])))
    with pytest.raises(DataError, match="expected an object from question identifiers to texts"):
        score_files("v1.1", data, write(tmp_path, "[]", "texts.json"))
    with pytest.raises(DataError, match=r"no dev-v2\.0\.json"):
        score_files("v2.0", tmp_path, data)
