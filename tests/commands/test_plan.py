"""`plan` tells what there is to run, what is there already and what is to come, before anything is spent."""

import re
from pathlib import Path

import pytest

from runners.dag import shared_stages, trial_stages
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.yaml import scales
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.paths import ResultPaths
from tests.factories.command_calls import ROOT, TABLE, Call
from tests.factories.plans import kept, planned, written


@pytest.mark.parametrize("scale", ["smoke", "paper"])
def test_every_arm_is_shown_with_its_changes_costs_and_cells(call: Call, scale: str, tmp_path: Path) -> None:
    experiment = load_experiment(TABLE, scale)
    document = planned(call, TABLE, "--scale", scale, "--out", tmp_path)
    assert [arm["name"] for arm in document["arms"]] == [arm.name for arm in experiment.arms]
    for row, arm in zip(document["arms"], experiment.arms, strict=True):
        assert row["changes"] == arm.changes
        assert row["parameters"] == arm.candidate.architecture.parameters
        tokens = experiment.pretraining.tokens
        assert row["train_flops"] == arm.candidate.train_flops(tokens, experiment.baseline.architecture)
        assert row["uses"]["metric"] == ["held_out_loss", *sorted(experiment.fine_tuning.tasks), "score"]
    orderings = {arm["name"]: arm["uses"].get("claim", []) for arm in document["arms"]}
    assert orderings["span_dynamic"] == ["span_dynamic > dynamic", "span_dynamic > baseline"]
    assert orderings["lightweight"] == []
    assert document["arms"][3]["uses"]["one-change comparison"] == ["lightweight − bottleneck"]


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("name", ["table2", "table7"])
def test_no_change_of_an_arm_is_cut_whatever_the_terminal(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    file = ROOT / "experiments" / f"{name}.yaml"
    output = call("plan", file, "--scale", "laptop", "--out", tmp_path).out
    words = set(output.split())
    for arm in load_experiment(file, "laptop").arms:
        assert {arm.name} | {f"{path}:" for path in arm.changes} <= words, arm.name


def test_a_question_controls_no_terminal(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "experiments" / "table2.yaml").read_text(encoding="utf-8")
    question = r'question: "\e[31mred\u202e [/red]\a"'
    (tmp_path / "experiments").mkdir()
    file = tmp_path / "experiments" / "odd.yaml"
    file.write_text(re.sub("^question: .*$", lambda _: question, text, flags=re.MULTILINE), encoding="utf-8")
    assert ": [31mred [/red]\n" in call("plan", file, "--scale", "smoke", "--out", tmp_path).out
    monkeypatch.setattr("steeplechase.commands.experiments.experiment_files", lambda: {"odd": file})
    assert "  [31mred [/red] " in call("experiments").out


def test_cached_stages_are_counted_by_arm(call: Call, tmp_path: Path) -> None:
    experiment, store = load_experiment(TABLE, "smoke"), ArtifactStore(ResultPaths.of(tmp_path).stages)
    shared = shared_stages(experiment)
    kept(store, shared.corpus, b"corpus")
    stages = trial_stages(experiment, shared, experiment.arms[2].candidate, 1)
    for stage in list(stages.values())[:2]:
        kept(store, stage, b"weights")
    document = planned(call, TABLE, "--scale", "smoke", "--out", tmp_path)
    assert document["shared"] == {"stages": 9, "cached": 1}
    assert [(arm["cached"], arm["stages"]) for arm in document["arms"]] == [(2 * (at == 2), 8) for at in range(6)]


def test_left_out_points_and_aliases_are_reported(call: Call, tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
design:
  - { kind: factorial, vary: { heads: [2, 4], bottleneck_ratio: [1, 4] } }
  - { kind: ladder, components: { heads: { heads: 2 }, deep: { depth: 3 } } }
on_invalid: skip
""",
    )
    document = planned(call, file)
    assert [arm["name"] for arm in document["arms"]] == ["baseline", "heads=2", "bottleneck_ratio=4", "+deep"]
    assert document["aliases"] == {"+heads": "heads=2"}
    ((reason,),) = ([one["reasons"] for one in document["impossible"]],)
    assert reason == ["4 does not divide heads 2; γ keeps whole heads. Allowed near it: 1, 2"]
    out = call("plan", file).out
    assert "+heads is the same candidate as heads=2: one row" in out
    assert "1 impossible point is left out. heads=2,bottleneck_ratio=4: 4 does not" in " ".join(out.split())


def test_a_factorial_reports_the_consequences_of_impossible_runs(call: Call, tmp_path: Path) -> None:
    text = """
design: { kind: factorial, vary: { heads: [4, 2], bottleneck_ratio: [1, 4], depth: [2, 3] } }
constraints: ["not (heads < 4 and bottleneck_ratio > 1)"]
on_invalid: skip
"""
    notes = planned(call, written(tmp_path, text))["notes"]
    (warning,) = [note for note in notes if "are impossible" in note]
    assert warning.startswith("factorial: 2 of 8 runs are impossible and the factorial is not full; no longer bal")
    assert "not estimable: heads=2" in warning


def test_data_that_is_on_another_machine_leaves_the_rest_of_the_plan(call: Call, tmp_path: Path) -> None:
    text = "design: { kind: one_factor, vary: { heads: [2] } }\ncorpus: { kind: text_files, path: /nowhere.txt }"
    document = planned(call, written(tmp_path, text))
    assert [arm["cached"] for arm in document["arms"]] == [None, None]
    assert "/nowhere.txt" in document["unknown"]
    assert document["prediction"] is None


def test_all_data_that_are_missing_are_named_at_once_at_the_head_of_the_plan_and_by_run(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = """
design: { kind: one_factor, vary: { heads: [2] } }
corpus: { kind: text_files, path: nowhere/text }
fine_tuning: { data: nowhere/data, tasks: [cola, rte, squad_v1_1], corpus: { kind: text_files, path: nowhere/other } }
"""
    file, wanted = written(tmp_path, text), ("nowhere/text", "nowhere/other", "CoLA/train.tsv", "RTE/", "train-v1.1")
    monkeypatch.setenv("COLUMNS", "500")
    planned_ = call("plan", file, "--out", tmp_path / "results")
    assert planned_.code == 4
    _, heading, one, other, cola, rte, squad, hint, *_ = planned_.out.rstrip().splitlines()
    assert "STEEPLECHASE_DATA" in hint
    assert heading == "missing, and `run` needs it:"
    for line, words in zip((one, other, cola, rte, squad), wanted, strict=True):
        assert words in line
        assert "no such file" in line or "expected" in line
    run = call("run", file, "--out", tmp_path / "results")
    assert run.code == 4
    refusals = [line for line in run.err.splitlines() if not line.startswith("warning: ")]
    assert all(words in line for words, line in zip((*wanted, "STEEPLECHASE_DATA"), refusals, strict=True))


def test_a_plan_names_the_scales_of_the_file(call: Call, tmp_path: Path) -> None:
    assert planned(call, TABLE, "--scale", "smoke")["scales"] == [*scales(TABLE)]
    assert f"scales of this file: {', '.join(scales(TABLE))}" in " ".join(call("plan", TABLE).out.split())
    file = written(tmp_path, "design: { kind: one_factor, vary: { heads: [2] } }")
    assert "scales of this file" not in call("plan", file).out
