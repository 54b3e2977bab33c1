"""`plan` and `run` from Python do what the command does, with the same errors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steeplechase
from steeplechase.experiments import _as_text
from steeplechase.foundation.errors import ConfigurationError
from tests.factories.command_calls import TABLE
from tests.factories.command_line import UNANSWERED

SMALL = {
    "pretraining.tokens": 2048,
    "pretraining.seeds": [1],
    "pretraining.evaluations": 1,
    "pretraining.held_out_sequences": 16,
    "corpus.document_count": 500,
    "baseline.recipe.schedule.warmup_tokens": 0,
}


def test_a_plan_is_the_document_of_the_command(tmp_path: Path) -> None:
    plan = steeplechase.plan(TABLE, scale="smoke", settings={"pretraining.seeds": [1]}, out=tmp_path)
    assert json.loads(json.dumps(plan)) == plan
    assert [arm["name"] for arm in plan["arms"]][:2] == ["baseline", "bottleneck"]
    assert plan["values_per_cell"]["pretraining_seeds"] == 1


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"engine": "slurm"}, "engine: 'slurm' is not an engine; allowed: local, ray"),
        ({"workers": 0}, "workers: 0 is out of range; 1 or more are needed"),
    ],
)
def test_an_unknown_engine_or_no_worker_is_refused_before_anything_is_written(
    tmp_path: Path, how: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        steeplechase.run(TABLE, scale="smoke", out=tmp_path / "out", **how)
    assert not [*tmp_path.iterdir()]


VALUES = (
    1e5,
    100_000,
    True,
    None,
    "dynamic",
    [1, 2],
    {"kind": "none"},
    3e-4,
    "1: 2",
    "yes",
    "é 😀 \\ud83d\\ude00 \x85",
)


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_setting_is_read_as_the_value_that_was_given(value: object) -> None:
    from steeplechase.configuration.yaml.nodes import plain, read_document

    (text,) = _as_text({"a.b": value})
    read = plain(read_document("f", f"value: {text.removeprefix('a.b=')}")[0])
    assert read == {"value": tuple(value) if isinstance(value, list) else value}


def test_numbers_of_numpy_and_paths_are_settings() -> None:
    given = {"a": np.int64(3), "b": np.array([1, 2]), "c": Path("texts") / "one", "d": [np.bool_(True)]}
    assert _as_text(given) == ("a=3", "b=[1, 2]", 'c="texts/one"', "d=[true]")


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()])
def test_a_value_that_no_file_can_hold_is_refused_in_one_line(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^--set a: .* is no value of an experiment file") as refused:
        _as_text({"a": value})
    assert len(refused.value.lines) == 1


def test_keywords_of_another_type_are_refused_in_one_line_each(tmp_path: Path) -> None:
    file = tmp_path / "absent.yaml"
    with pytest.raises(ConfigurationError) as refused:
        steeplechase.run(file, seeds=[1, 2], stop_after="45m", reuse="published")
    assert tuple(refused.value.lines) == (
        "seeds: [1, 2] is of type list; text is needed. Only these pretraining seeds, such as 1,2 or 1-3.",
        "reuse: 'published' is of type str; a list is needed",
        "stop_after: '45m' is of type str; a number is needed",
    )
    with pytest.raises(ConfigurationError, match=r"^arms: \['k3'\] is of type list; text is needed"):
        steeplechase.plan(file, arms=["k3"])
    with pytest.raises(ConfigurationError, match=r"^settings: \['a'\] is of type list; a mapping is needed$"):
        steeplechase.plan(file, settings=["a"])  # type: ignore[arg-type]


def test_mistakes_are_raised_with_every_line(tmp_path: Path) -> None:
    with pytest.raises(steeplechase.UserError) as refused:
        steeplechase.plan(TABLE, scale="smoke", settings={"pretraining.tokens": "many", "pretraining.seeds": []})
    assert len(refused.value.lines) == 2
    assert all(line.startswith("--set pretraining.") for line in refused.value.lines)


@pytest.mark.engines
def test_a_run_returns_its_results_and_records_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", UNANSWERED)
    found = steeplechase.run("probes/bidirectional_cue", scale="smoke", settings=SMALL, workers=1, out=tmp_path)
    assert [*found.trials().arm] == ["baseline", "left_to_right"]
    assert {*found.curves().tokens} == {2048}
    assert found.snapshot.manifest["settings"] == [f"{key}={json.dumps(value)}" for key, value in SMALL.items()]
    assert "--set pretraining.tokens=2048" in found.snapshot.sessions[0].command
    assert str(tmp_path) not in found.snapshot.sessions[0].command
    assert (tmp_path / "tables" / "trials.csv").is_file()
    assert dict(found.report.made_with)["Settings"].startswith("pretraining.tokens=2048, ")
