"""Fine-tuning without pretraining: checkpoints and hyperparameters of fine-tuning as arms, and the report."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from runners.dag import shared_stages, trial_stages
from steeplechase import load
from steeplechase.commands.arguments import choose
from steeplechase.configuration.experiment import Experiment
from tests.factories.command_calls import Call
from tests.factories.local_models import MIXED, corpus, sized, stirred_start

PLAIN = sized(embedding_width=32)


def file_of(folder: Path, **changes: Any) -> Path:
    """Write an experiment that fine-tunes two checkpoints, one of them at another rate, and return its file."""
    rows = [("kernel" if number % 2 else "padding", number % 2) for number in range(24)]
    with (folder / "rows.csv").open("w", newline="") as table:
        csv.writer(table).writerows([("text", "label"), *((f"the {word} slides", label) for word, label in rows)])
    document: dict[str, Any] = {
        "experiment": "alone",
        "question": "Which checkpoint?",
        "baseline": {"recipe": {"sequence_length": 16}},
        "design": {
            "kind": "list",
            "arms": {
                "mixed": {"init_checkpoint": str(folder / "mixed")},
                "fast": {"fine_tuning.peak_learning_rate": 1e-2},
            },
        },
        "corpus": {"kind": "text_files", "path": str(folder / "texts")},
        "pretraining": {"tokens": 0, "seeds": [1, 2], "init_checkpoint": str(folder / "plain")},
        "fine_tuning": {
            "tasks": ["words"],
            "sequence_length": 16,
            "epochs": 1,
            "batch_examples": 8,
            "own_tasks": {
                "words": {
                    "kind": "table",
                    "train": str(folder / "rows.csv"),
                    "dev": str(folder / "rows.csv"),
                    "columns": {"text": "text", "label": "label"},
                }
            },
        },
    }
    for path, value in changes.items():
        *parents, leaf = path.split("__")
        node = document
        for parent in parents:
            node = node[parent]
        node[leaf] = value
    file = folder / "alone.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    return file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two checkpoints of different architectures with one vocabulary, and a text."""
    monkeypatch.chdir(tmp_path)
    corpus(tmp_path / "texts")
    stirred_start(tmp_path / "plain", PLAIN)
    stirred_start(tmp_path / "mixed", sized(**MIXED))
    return tmp_path


def declared(file: Path) -> Experiment:
    return choose(file, None).experiment


def test_a_checkpoint_gives_its_arm_the_architecture_and_the_experiment_the_tokenizer(folder: Path) -> None:
    experiment = declared(file_of(folder))
    architectures = {arm.name: arm.candidate.architecture for arm in experiment.arms}
    assert architectures == {"baseline": PLAIN, "mixed": sized(**MIXED), "fast": PLAIN}
    assert experiment.tokenizer.model_dump() == {
        "kind": "vocabulary", "path": str(folder / "plain" / "vocab.txt"), "lowercase": True,
    }  # fmt: skip


def test_arms_of_one_checkpoint_share_its_stage_and_seeds_differ_in_fine_tuning_alone(folder: Path) -> None:
    experiment = declared(file_of(folder))
    shared = shared_stages(experiment)
    assert not {"evaluation_set", "contamination words"} & shared.by_label.keys()
    stages = {
        (arm.name, seed): trial_stages(experiment, shared, arm.candidate, seed)
        for arm in experiment.arms
        for seed in (1, 2)
    }
    assert {tuple(labels) for labels in stages.values()} == {("pretrain@0", "words#1")}
    encoders = {arm: {stages[arm, seed]["pretrain@0"].key for seed in (1, 2)} for arm, _ in stages}
    assert encoders["baseline"] == encoders["fast"] != encoders["mixed"]
    assert all(len(keys) == 1 for keys in encoders.values())
    assert len({found["words#1"].key for found in stages.values()}) == len(stages)
    rates = {arm: stages[arm, 1]["words#1"].declaration.model_dump()["peak_learning_rate"] for arm, _ in stages}
    assert rates == {"baseline": 3e-4, "mixed": 3e-4, "fast": 1e-2}


def test_an_axis_of_fine_tuning_has_the_experiments_value_as_the_baselines_level(folder: Path) -> None:
    axes = {"kind": "one_factor", "vary": {"fine_tuning.peak_learning_rate": [3e-4, 1e-3], "fine_tuning.epochs": [2]}}
    arms = declared(file_of(folder, design=axes)).arms
    assert [arm.name for arm in arms] == ["baseline", "peak_learning_rate=0.001", "epochs=2"]
    assert arms[0].levels == {"fine_tuning.peak_learning_rate": 3e-4, "fine_tuning.epochs": 1}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"pretraining__init_checkpoint": None},
            "0 tokens train nothing, and baseline, fast has no initial checkpoint",
        ),
        ({"fine_tuning__tasks": []}, "0 tokens leave fine-tuning alone, and fine_tuning.tasks is empty"),
        ({"fine_tuning__seeds": [1, 2]}, "without pretraining the seeds of fine-tuning are pretraining.seeds"),
        ({"pretraining__audit": {"share": 0.5}}, "needs pretraining, and pretraining.tokens is 0"),
        ({"design__arms__mixed": {"recipe.peak_learning_rate": 1.0}}, "which fine-tuning does not read"),
        ({"design__arms__mixed": {"fine_tuning.epochs": 1}}, "mixed changes nothing: it is the baseline"),
        ({"design__arms__mixed": {"fine_tuning.epoch": 3}}, "epoch is not a field of fine_tuning. Did you mean"),
        ({"design__arms__mixed": {"init_checkpoint": "none"}}, "design.arms.mixed.init_checkpoint: none: no initial"),
        ({"fine_tuning__search": {"peak_learning_rate": [1e-3, 1e-4]}}, "a field is searched or set by an arm"),
    ],
)
def test_what_fine_tuning_alone_cannot_do_is_said(
    folder: Path, call: Call, changes: dict[str, Any], message: str
) -> None:
    answer = call("plan", file_of(folder, **changes))
    assert answer.code == 3
    assert message in answer.err


def test_a_hugging_face_folder_is_imported_once_and_fine_tuned_by_one_command(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steeplechase.commands.arguments.IMPORTED", folder / "imported")
    assert call("export", folder / "plain", folder / "hub").code == 0
    file = file_of(folder, pretraining__init_checkpoint="hub", design__arms={"fast": {"fine_tuning.epochs": 2}})
    answer = call("run", file, "--out", folder / "out", "--workers", 1)
    assert answer.code == 0, answer.err
    assert answer.err.count(f"imported: {folder / 'hub'} as {folder / 'imported' / 'hub'}-") == 1
    found = load(folder / "out")
    scope = "n counts fine-tuning seeds of one checkpoint: what differs, differs for these checkpoints"
    assert scope in found.finding
    assert "over n fine-tuning seeds of one checkpoint." in (folder / "out" / "report.md").read_text()
    assert set(found.trials().task) == {"words"}
    assert "imported:" not in call("plan", file).err
    again = call("report", folder / "out", "--predictions", "--format", "json")
    predictions = found.predictions("words")
    means = 100 * predictions.groupby(["arm", "pretraining_seed"]).accuracy.mean()
    values = found.trials().query("metric == 'accuracy'").set_index(["arm", "seed"]).value
    assert means.tolist() == pytest.approx([values[place] for place in means.index])
    written = (folder / "out" / "tables" / "predictions" / "words.csv").read_text().splitlines()
    assert len(written) == 1 + len(predictions) == 1 + 2 * 2 * 24
    assert predictions.row.tolist() == [*range(24)] * 4
    assert predictions.label.tolist() == [str(row % 2) for row in predictions.row]
    assert set(predictions.prediction) <= {"0", "1"}
    assert json.loads(again.out)["finding"] == found.finding
