"""Scores of complete files, with remarks about irregularities."""

import json
from pathlib import Path

import pytest

from foundation.errors import DataError
from tasks.squad.evaluate import score_files
from tests.factories.published_data import published
from tests.factories.squad_files import document, question, write

TEXT = "The Normans gave their name to Normandy."


def test_missing_and_ignored_predictions_are_reported() -> None:
    squad = published("squad")
    scored = score_files("v1.1", squad, squad / "predictions/v1.1/logistic_regression_baseline.json")
    assert scored.metrics["f1"] == pytest.approx(50.981536473244724)
    assert score_files("v1.1", squad.parent, squad / "predictions/v1.1/logistic_regression_baseline.json") == scored
    assert len(scored.remarks) == 2
    assert "no prediction for 13 of 10570 questions, which score 0: " in scored.remarks[0]
    assert scored.remarks[0].endswith("and 10 more")
    assert scored.remarks[1].endswith("28 predictions are of questions that are not in dev-v1.1.json; ignored")


def test_a_subset_file_is_named_and_null_odds_are_read(tmp_path: Path) -> None:
    asked = [question("a", "Who?", ("Normans", 4), impossible=False), question("b", "Why?", impossible=True)]
    data = write(tmp_path, document((TEXT, asked)), "dev-v2.0.cut.json")
    texts = write(tmp_path, {"a": "Normans", "b": "Normandy"}, "texts.json")
    odds = write(tmp_path, {"a": -3.0, "b": 2.0}, "odds.json")
    scored = score_files("v2.0", tmp_path, texts, odds)
    assert scored.remarks == (f"{data.name}: not dev-v2.0.json; 2 questions",)
    expected = {"exact": 100.0, "f1": 100.0, "total": 2, "best_exact": 100.0, "best_exact_thresh": -3.0}
    assert {name: scored.metrics[name] for name in expected} == expected
    assert score_files("v2.0", data, texts).metrics["exact"] == 50.0
    json.dumps(dict(scored.metrics))


def test_files_of_the_wrong_kind_are_refused(tmp_path: Path) -> None:
    data = write(tmp_path, document((TEXT, [question("a", "Who?", ("Normans", 4))])))
    with pytest.raises(DataError, match="expected an object from question identifiers to texts"):
        score_files("v1.1", data, write(tmp_path, "[]", "texts.json"))
    with pytest.raises(DataError, match=r"no dev-v2\.0\.json"):
        score_files("v2.0", tmp_path, data)
