"""Scores of GLUE's files equal scikit-learn's and scipy's; its score, a published row, and submissions."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.glue.scores import FILES, LEADERBOARD, PAPER, PARTS_OF, glue_scores, table_of
from steeplechase.tasks.metrics import pearson, spearman
from tests.factories.glue_folders import ANSWERS, GLUE, write_table


@pytest.mark.parametrize(("ours", "theirs"), [(pearson, pearsonr), (spearman, spearmanr)])
def test_correlations_are_those_of_scipy(ours: Callable, theirs: Callable) -> None:
    random_ = random.Random(20)
    for _ in range(200):
        predicted, right = ([round(random_.uniform(0, 5), places) for _ in range(20)] for places in (15, 1))
        assert ours(predicted, right) == pytest.approx(theirs(predicted, right).statistic, abs=1e-12)


def _answers(name: str, folder: Path, rows: int) -> list[str]:
    write_table(name, folder / "dev.tsv", rows)
    column = {"cola": 1, "mrpc": 0}.get(name, -1)
    lines = (folder / "dev.tsv").read_text(encoding="utf-8").split("\n")[:-1]
    return [line.split("\t")[column] for line in lines[-rows:]]


@pytest.mark.parametrize("name", GLUE)
def test_correct_predictions_have_full_scores_in_every_format(name: str, tmp_path: Path) -> None:
    right = _answers(name, tmp_path, 12)
    evaluate = find_task(name).evaluate
    assert evaluate is not None
    forms = {
        "lines.txt": "\n".join(right) + "\n",
        "table.tsv": "index\tprediction\n"
        + "".join(f"{row}\t{told}\n" for row, told in reversed([*enumerate(right)])),
        "list.json": json.dumps(right),
        "object.json": json.dumps({str(row): told for row, told in enumerate(right)}),
    }
    for file, text in forms.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
        found = evaluate(tmp_path / "dev.tsv", tmp_path / file, None).metrics
        assert found == pytest.approx(dict.fromkeys(found, 1.0))


def test_official_names() -> None:
    names = {
        "cola": {"matthews_correlation", "accuracy"},
        "stsb": {"pearson", "spearmanr"},
        "mrpc": {"accuracy", "f1"},
        "rte": {"accuracy"},
    }
    from steeplechase.tasks.glue.evaluate import OFFICIAL_NAMES

    for task, wanted in names.items():
        assert {OFFICIAL_NAMES.get(metric, metric) for metric in find_task(task).metrics} == wanted


def test_constant_predictions_give_a_remark_and_a_correlation_of_0(tmp_path: Path) -> None:
    right = _answers("cola", tmp_path, 12)
    evaluate = find_task("cola").evaluate
    assert evaluate is not None
    (tmp_path / "p").write_text("1\n" * 12, encoding="utf-8")
    constant = evaluate(tmp_path / "dev.tsv", tmp_path / "p", None)
    assert constant.metrics["matthews_correlation"] == 0
    assert constant.remarks == ("p: all 12 predictions are '1'; a correlation then counts as 0",)
    (tmp_path / "p").write_text("\n".join(right), encoding="utf-8")
    assert evaluate(tmp_path / "dev.tsv", tmp_path / "p", None).remarks == ()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=12, max_size=12))
@example([5.02, -0.1, 7.0, 2.0, 1e6, -1e6, 0.0, 5.0, 3.3, 4.999, 5.0001, -1e-9])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_predictions_of_a_value_may_be_any_finite_number(tmp_path: Path, told: list[float]) -> None:
    assume(len(set(told)) > 1)
    right = [float(answer) for answer in _answers("stsb", tmp_path, 12)]
    evaluate = find_task("stsb").evaluate
    assert evaluate is not None
    (tmp_path / "p").write_text("\n".join(map(repr, told)), encoding="utf-8")
    found = evaluate(tmp_path / "dev.tsv", tmp_path / "p", None).metrics
    assert found["spearmanr"] == pytest.approx(spearmanr(told, right).statistic, abs=1e-9)
    assert found["pearson"] == pytest.approx(pearson(told, right))


@pytest.mark.parametrize("wrong", ["nan", "inf", "-inf", "much", ""])
def test_a_predicted_value_that_is_not_finite_is_refused(wrong: str, tmp_path: Path) -> None:
    told = _answers("stsb", tmp_path, 12)
    evaluate = find_task("stsb").evaluate
    assert evaluate is not None
    (tmp_path / "p").write_text("\n".join([*told[:3], wrong, *told[4:]]), encoding="utf-8")
    with pytest.raises(DataError, match=f"p:4: '{wrong}' is not a valid prediction; expected a finite number"):
        evaluate(tmp_path / "dev.tsv", tmp_path / "p", None)


@pytest.mark.parametrize("value", ["5.2", "-0.1", "nan"])
def test_a_reference_outside_the_range_is_refused(value: str, tmp_path: Path) -> None:
    told = _answers("stsb", tmp_path, 12)
    dev, evaluate = tmp_path / "dev.tsv", find_task("stsb").evaluate
    assert evaluate is not None
    rows = dev.read_text(encoding="utf-8").split("\n")
    rows[3] = "\t".join([*rows[3].split("\t")[:-1], value])
    dev.write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "p").write_text("\n".join(told), encoding="utf-8")
    with pytest.raises(DataError, match="expected a number from 0 to 5"):
        evaluate(dev, tmp_path / "p", None)


@pytest.mark.parametrize(("name", "answer"), [("stsb", "2.5"), ("cola", "1")])
def test_constant_references_give_a_remark(name: str, answer: str, tmp_path: Path) -> None:
    told = _answers(name, tmp_path, 12)
    dev, evaluate = tmp_path / "dev.tsv", find_task(name).evaluate
    assert evaluate is not None
    column = {"cola": 1}.get(name, -1)
    rows = [row.split("\t") for row in dev.read_text(encoding="utf-8").split("\n")[:-1]]
    for row in rows[-12:]:
        row[column] = answer
    dev.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "p").write_text("\n".join(told), encoding="utf-8")
    remarks = evaluate(dev, tmp_path / "p", None).remarks
    assert remarks == (
        f"dev.tsv: all 12 references are {answer}; a correlation with them is undefined and counts as 0",
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "index\tprediction\n0\tentailment\n0\tentailment\n9\tentailment\n",
            ["first in line 2", "'9' is not one", "3 of 4 rows"],
        ),
        (
            "entailment\nperhaps\n1\nnot_entailment\n",
            ["p:2: 'perhaps' is not a valid prediction", "p:3: '1' is not a"],
        ),
        ("entailment\n", ["1 predictions for 4"]),
        ('["entailment"', ["not JSON"]),
        (
            '{"0": "entailment", "1": "entailment", "0": "not_entailment", "2": "entailment", "3": "entailment"}',
            ["p:3: duplicate row '0', first in line 1"],
        ),
        ("index\tprediction\n0 entailment\n", ["p:2: 1 cells"]),
        ("", ["0 predictions for 4"]),
    ],
)
def test_invalid_predictions_are_reported(text: str, told: list[str], tmp_path: Path) -> None:
    _answers("rte", tmp_path, 4)
    (tmp_path / "p").write_text(text, encoding="utf-8")
    evaluate = find_task("rte").evaluate
    assert evaluate is not None
    with pytest.raises(DataError) as refusal:
        evaluate(tmp_path / "dev.tsv", tmp_path / "p", None)
    for words in told:
        assert words in "\n".join(refusal.value.lines)


def test_a_folder_in_place_of_predictions_is_named_as_one(tmp_path: Path) -> None:
    evaluate = find_task("rte").evaluate
    assert evaluate is not None
    _answers("rte", tmp_path, 4)
    with pytest.raises(DataError, match="a folder; give the file of predictions"):
        evaluate(tmp_path / "dev.tsv", tmp_path, None)


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
