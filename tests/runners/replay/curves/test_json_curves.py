"""Recorded curves of TaskSet and final scores of NAS-Bench-BERT as JSON: what is read, one clear line per error."""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from runners.replay.curves.reading import read_curves
from steeplechase.foundation.errors import DataError


def test_a_json_file_that_is_no_list_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"experiment": "e", "tables": []}, indent=2))
    with pytest.raises(DataError) as refused:
        read_curves(path)
    assert [line.startswith(f"{path}: a list is needed") for line in refused.value.lines] == [True]


def test_integers_beyond_doubles_are_divergence(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    entries = [taskset_entry(rate, [3.0, end]) for rate, end in ((0.1, 2.0), (0.2, 10**400), (0.3, 1.0))]
    path.write_text(json.dumps(entries))
    assert read_curves(path)[0].values[:, 1].tolist() == [2.0, np.inf, 1.0]


def taskset_entry(rate: float, losses: list[float | None]) -> dict[str, object]:
    return {"hp": {"learning_rate": rate}, "valid": {"loss": losses}, "train": {"loss": losses}}


def test_taskset_with_overflow_and_nan(tmp_path: Path) -> None:
    entries = [
        taskset_entry(0.1, [3.0, 2.0]),
        taskset_entry(0.2, [3.0, 1e10]),
        taskset_entry(0.3, [3.0, float("nan")]),
    ]
    path = tmp_path / "task.json.xz"
    path.write_bytes(lzma.compress(json.dumps([*entries, taskset_entry(0.4, [3.0, 1.0])]).encode()))
    (found,) = read_curves(path)
    assert found.values[:, 1].tolist() == [2.0, np.inf, np.inf, 1.0]
    assert found.costs.tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([taskset_entry(0.1, [1.0]), {"valid": {"loss": [1.0]}}], "entry 1: hp is missing"),
        ([taskset_entry(0.1, [1.0]), taskset_entry(0.1, [1.0, 2.0])], "entry 1: valid.loss has 2 points"),
        ([{"hp": {}, "valid": 3}], "entry 0: valid.loss is missing"),
        ([{"scores": {"rte": 3}, "hparams": {}}], "entry 0: scores holds neither glue nor scores by step"),
        ([{"scores": {"glue": "x"}, "hparams": {}}], "entry 0: scores.glue is 'x'"),
        ([{"other": 1}], "needed are TaskSet entries"),
        (
            [taskset_entry(0.1, [1.0]), taskset_entry(float("inf"), [2.0])],
            "candidate 1: its configuration holds a num",
        ),
        (
            [taskset_entry(float("nan"), [1.0]), taskset_entry(0.1, [2.0])],
            "candidate 0: its configuration holds a num",
        ),
    ],
)
def test_a_wrong_json_file_is_one_clear_line(tmp_path: Path, entries: list[object], said: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(entries))
    with pytest.raises(DataError, match=said) as refused:
        read_curves(path)
    assert len(refused.value.lines) == 1


def test_long_runs_with_a_wrong_total_have_their_tasks_mean_and_runs_without_scores_are_left_out(
    tmp_path: Path,
) -> None:
    tasks = dict.fromkeys(("cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst", "sts"), 70.0)
    runs = [
        {"id": 0, "hparams": {}, "scores": {"1": {"glue": 60.0}, "2": {"glue": 65.0}}},
        {
            "id": 1,
            "hparams": {},
            "scores": {"1": {**tasks, "glue": 140.0}, "2": {**tasks, "rte": 78.0, "glue": 141.0}},
        },
        {"id": 2, "hparams": {}, "scores": {}},
        {"id": 3, "hparams": {}, "scores": {"1": {"glue": 140.0}, "2": {"glue": 65.0}}},
    ]
    path = tmp_path / "long.json"
    path.write_text(json.dumps(runs))
    (found,) = read_curves(path)
    assert (found.candidates, found.left_out) == (("0", "1"), 1)
    assert found.values.tolist() == [[-60.0, -65.0], [-70.0, -71.0]]
