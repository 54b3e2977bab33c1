"""`plan` tells what is to run, its time, disk and tuning, and what is there already, before anything is spent."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from runners.cost_estimate.past_runs import measured_under
from runners.cost_estimate.prediction import Range
from runners.dag import shared_stages, trial_stages
from runners.opening import RunRequest, open_ledger
from runners.plan import plan_of
from runners.settings import Selection
from runners.stages.stage import Stage
from search_space.cost import MATMUL
from steeplechase.commands.arguments import choose
from steeplechase.commands.planning.text import amount_text
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.yaml import scales
from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import LEDGER_NAME
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import Record, Status
from tests.factories.command_calls import ROOT, TABLE, Call
from tests.factories.first_cohort import declare_first_cohort
from tests.factories.plans import kept, planned, written
from tests.factories.stage_results import plausible


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


@pytest.mark.parametrize("columns", [40, 80, 200])
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
    assert re.search(r"^arm .* parameters +forward +train FLOPs +cached", output, re.MULTILINE)


def test_a_question_controls_no_terminal(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "experiments" / "table2.yaml").read_text(encoding="utf-8")
    question = r'question: "\e[31mred\u202e [/red]\a"'
    (tmp_path / "experiments").mkdir()
    file = tmp_path / "experiments" / "odd.yaml"
    file.write_text(re.sub("^question: .*$", lambda _: question, text, flags=re.MULTILINE), encoding="utf-8")
    assert ": [31mred [/red]\n" in call("plan", file, "--scale", "smoke", "--out", tmp_path).out
    monkeypatch.setattr("steeplechase.commands.experiments.experiment_files", lambda: {"odd": file})
    assert "  [31mred [/red] " in call("experiments").out


@pytest.mark.parametrize(("name", "stages"), [("joint", 7), ("bertram/rarified", 12)])
def test_probes_at_rungs_and_word_embeddings_are_stages_of_an_arm(
    call: Call, tmp_path: Path, name: str, stages: int
) -> None:
    document = planned(call, ROOT / "experiments" / f"{name}.yaml", "--scale", "smoke", "--out", tmp_path)
    assert {(arm["cached"], arm["stages"]) for arm in document["arms"]} == {(0, stages)}


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


def test_a_factorial_over_a_field_of_an_option_says_that_it_has_no_main_effects(call: Call, tmp_path: Path) -> None:
    text = "design: { kind: factorial, vary: { convolution: [none, dynamic], convolution.kernel_size: [3, 9] } }"
    (found,) = [note for note in planned(call, written(tmp_path, text))["notes"] if "main effects" in note]
    assert found.startswith("factorial: convolution.kernel_size is no field of every point: no main effects")


def test_long_names_of_arms_are_never_cut(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    options = "convolution: [none, dynamic], convolution.kernel_size: [3, 5, 9]"
    text = f"design: {{ kind: factorial, vary: {{ {options}, heads: [2, 4], recipe.dropout: [0.1, 0.2] }} }}"
    out = call("plan", written(tmp_path, text)).out
    assert "…" not in out
    assert "ropout=0.2" in out.replace("\n", "")


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


def finished(trial: str, label: str, stage: Stage, seconds: float) -> Record:
    return Record(0, trial, stage.kind, label, stage.key, Status.FINISHED, plausible(stage.kind), seconds, False)


def test_time_and_disk_are_unknown_without_measurements(call: Call, tmp_path: Path) -> None:
    document = planned(call, TABLE, "--scale", "smoke", "--out", tmp_path)
    assert document["prediction"]["seconds"] is None
    assert document["prediction"]["bytes"] is None
    kinds = ["contamination", "corpus", "evaluation_set", "examples", "fine_tune", "pretrain", "tokens"]
    assert document["prediction"]["never_measured"] == kinds
    answer = " ".join(call("plan", TABLE, "--out", tmp_path).out.split())
    assert (
        "time, disk: no estimate yet; these stages have not run on this machine at these sizes: contamination"
        in answer
    )
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_a_killed_run_has_not_filled_does_not_prevent_another_plan(tmp_path: Path) -> None:
    for name, begun in (("created", ()), ("opened", ("PRAGMA journal_mode=WAL",))):
        (tmp_path / name).mkdir()
        with closing(sqlite3.connect(tmp_path / name / LEDGER_NAME)) as ledger:
            for command in begun:
                ledger.execute(command)
        (tmp_path / name / LEDGER_NAME).touch()
    assert measured_under(tmp_path, ArtifactStore(tmp_path / "stages")) == ()
    (tmp_path / "created" / LEDGER_NAME).write_text("damaged")
    with pytest.raises(CorruptionError, match="created"):
        measured_under(tmp_path, ArtifactStore(tmp_path / "stages"))


def test_an_amount_has_bounds_where_they_are_written_otherwise() -> None:
    assert amount_text(Range(1.0, 1.0, 1.1), "{:.0f} GB".format) == "about 1 GB"
    assert amount_text(Range(2.0, 1.0, 3.0), "{:.0f} GB".format) == "about 2 GB (1 GB to 3 GB)"


def test_time_and_disk_scale_with_the_work_from_what_was_measured(tmp_path: Path) -> None:
    """One arm of the table is measured at a known pace and weight; the others are told from it."""
    chosen, places = choose(TABLE, "smoke"), ResultPaths.of(tmp_path / "here")
    experiment, store = chosen.experiment, ArtifactStore(places.stages)
    shared = shared_stages(experiment)
    with open_ledger(RunRequest(experiment, "smoke", places)) as ledger:
        declare_first_cohort(experiment, store, ledger)
        arm = ledger.arms()[0]
        for label, stage in trial_stages(experiment, shared, experiment.baseline, 1).items():
            seconds = arm.train_flops / 1e6 if label.startswith("pretrain") else 5.0
            kept(store, stage, b"x" * arm.parameters)
            ledger.add_record(finished("baseline/1", label, stage, seconds))
    plan = plan_of(experiment, Selection(out=tmp_path / "here"), MATMUL, "smoke")
    assert plan.prediction is not None
    assert plan.prediction.seconds is not None
    assert plan.prediction.bytes is not None
    assert set(plan.prediction.never_measured) == {"corpus", "tokens", "evaluation_set", "examples", "contamination"}
    left = [arm for row in plan.arms for arm in [row] * (1 if row.arm.name == "baseline" else 2)]
    pretraining = sum(row.train_flops for row in left) / 1e6
    tuning = sum(3 * 5.0 * row.forward_flops for row in left) / plan.arms[0].forward_flops  # length 64 in place of 32
    assert plan.prediction.seconds.middle == pytest.approx(pretraining + tuning, rel=0.05)
    weight = 4 * sum(row.parameters for row in left)
    assert plan.prediction.bytes.middle == pytest.approx(weight, rel=0.05)
    assert plan.prediction.measured == 4


TUNED = ROOT / "experiments" / "tuned.yaml"


DESIGN = "design: { kind: list, arms: { narrow: { bottleneck_ratio: 2 }, shallow: { depth: 1 } } }\n"


LISTED = "tune: { vary: { recipe.peak_learning_rate: [1e-3, 5e-4] }, trials: 4, seeds: [7, 8], tokens: 500000 }\n"


RANGE = "tune: { vary: { recipe.peak_learning_rate: { low: 1e-3, high: 2e-3, log: true } }, trials: 5, seeds: [7] }\n"


@pytest.mark.parametrize(("tune", "points", "seeds"), [(LISTED, 2, 2), (RANGE, 5, 1)])
def test_the_planned_trials_are_those_that_run(
    call: Call, tmp_path: Path, tune: str, points: int, seeds: int
) -> None:
    file = written(tmp_path, DESIGN + tune)
    chosen = choose(file, None)
    plan = planned(call, file, "--out", tmp_path / "results")["tuning"]
    request = RunRequest(chosen.experiment, chosen.scale, ResultPaths.of(tmp_path / "results"))
    with open_ledger(request) as ledger:
        declare_first_cohort(chosen.experiment, ArtifactStore(request.paths.stages), ledger)
        arms = {arm.name: arm for arm in ledger.arms() if arm.tuning_trial_of is not None}
        trials = [trial for trial in ledger.trials() if trial.arm in arms]
    assert plan["trials"] == len(trials) == 3 * points * seeds
    assert plan["points_per_arm"] == points
    assert plan["stages"] == len(trials)  # one stage each: nothing is fine-tuned for a loss
    assert plan["train_flops"] == sum(arms[trial.arm].train_flops for trial in trials)
    assert plan["arms_at_own_recipe_at_most"] == 3
    begun = planned(call, file, "--out", tmp_path / "results")["tuning"]
    assert len(begun["points"]) == points
    assert begun == plan


@pytest.mark.parametrize("scale", ["smoke", "laptop"])
def test_the_included_experiment_shows_its_points_costs_and_cells(call: Call, tmp_path: Path, scale: str) -> None:
    document = planned(call, TUNED, "--scale", scale, "--out", tmp_path)
    tuning: Any = document["tuning"]
    assert tuning["points"][0] == "shared"
    assert tuning["trials"] == 4 * len(tuning["points"]) * len(tuning["seeds"])
    assert ["tuned metric" in arm["uses"] for arm in document["arms"]] == [False, True, True, True]
    answer = call("plan", TUNED, "--scale", scale, "--out", tmp_path)
    tokens = tuning["trials"] * tuning["tokens_per_trial"]
    assert f"{tuning['trials']} trials of" in " ".join(answer.out.split())
    assert f"{tokens:,} tokens" in " ".join(answer.out.split())
