"""Tasks that an experiment declares: a table and features of a frozen encoder are tasks like any other."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from runners.computing import examples as examples_stage
from runners.computing import fine_tune
from runners.cost_estimate.flops import stage_flops
from runners.dag import shared_stages, trial_stages
from runners.scoring import part_scores
from runners.stage_labels import all_labels
from runners.stages.context import ProgressFile, StageContext
from runners.stages.examples import ExamplesStage
from runners.stages.fine_tune import FineTuneStage
from runners.stages.stage import Stage
from runners.training.checkpoint import save_checkpoint
from runners.training.optimisers.adamw import adamw
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.paths import CHECKPOINT, predictions_file
from steeplechase.ledger.records import Status
from steeplechase.ledger.rows import read_result
from steeplechase.ledger.stage_results import ExamplesResult
from steeplechase.models.downstream_model import build_fine_tuned
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.own_tasks.derived import ResolvedFeatures
from tests.factories import simulated_training as simulated
from tests.factories.small_experiments import WORDS, architecture, convolutions

COLUMNS = {"text": "review", "label": "stars", "id": "id"}
FEATURES = {"kind": "features", "of": "reviews", "lstm_width": 12}


def reviews(folder: Path, name: str = "reviews.csv", rows: int = 160) -> Path:
    """Write reviews that are positive where they have w30, and return the file."""
    random = np.random.default_rng(3)
    lines = ["id,review,stars"]
    for row in range(rows):
        positive = bool(random.integers(2))
        words = " ".join(f"w{number}" for number in random.integers(0, 20, 4))
        lines.append(f"{row},{words} {'w30' if positive else 'w31'},{'positive' if positive else 'negative'}")
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def experiment(folder: Path, train: Path, tasks: tuple[str, ...] = ("reviews",), **own: Any) -> Experiment:
    table = {"kind": "table", "train": str(train), "dev_share": 0.25, "columns": COLUMNS}
    tuning = {
        "tasks": tasks,
        "sequence_length": 16,
        "own_tasks": {"reviews": {**table, **own.pop("table", {})}, **own},
    }
    return simulated.experiment(folder, fine_tuning=tuning)


def stages(declared: Experiment) -> dict[str, Stage]:
    shared = shared_stages(declared)
    return {**shared.by_label, **trial_stages(declared, shared, declared.baseline, 1)}


def test_a_moved_file_changes_no_key_and_other_content_changes_those_of_its_task(tmp_path: Path) -> None:
    plain = experiment(tmp_path, reviews(tmp_path), ("docs_pair", "reviews"))
    moved = experiment(tmp_path, reviews(tmp_path, "moved.csv"), ("docs_pair", "reviews"))
    other = experiment(tmp_path, reviews(tmp_path, "other.csv", 150), ("docs_pair", "reviews"))
    keys = [{label: stage.key for label, stage in stages(each).items()} for each in (plain, moved, other)]
    assert keys[0] == keys[1]
    differing = {label for label in keys[0] if keys[0][label] != keys[2][label]}
    assert differing == {"examples reviews", "contamination reviews", "reviews#1"}
    assert plain.identity() != moved.identity()


@pytest.mark.parametrize(
    ("own", "tasks", "message"),
    [
        ({}, ("review",), "fine_tuning.tasks[0]: 'review' is not a task"),
        ({"cola": FEATURES}, ("reviews",), "fine_tuning.own_tasks.cola: 'cola' is the name of a known task"),
        ({"parameters": FEATURES}, ("reviews",), "own_tasks.parameters: 'parameters' is the name of a known task"),
        ({"f": {**FEATURES, "of": "revews"}}, ("f",), "own_tasks.f.of: 'revews' is not a task"),
        ({"f": {**FEATURES, "of": "g"}, "g": FEATURES}, ("f",), "own_tasks.f.of: 'g' is itself made of another task"),
        ({"f": {**FEATURES, "of": "blimp"}}, ("f",), "own_tasks.f.of: 'blimp' has no label, value, tags or span"),
        ({"f": {**FEATURES, "of": "cola"}}, ("f",), "tasks[0]: f needs fine_tuning.data"),
        ({"table": {"metrics": ("f2",)}}, ("reviews",), "own_tasks.reviews.metrics[0]: 'f2' is no metric of label"),
    ],
)
def test_a_wrong_declaration_is_named(
    own: dict[str, Any], tasks: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    declared = experiment(tmp_path, tmp_path / "reviews.csv", tasks, **own)
    found = [
        "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in violation.path)[1:]
        + f": {violation.message}"
        for violation in violations_of(declared)
    ]
    assert any(message in line for line in found), found


def test_features_have_seeds_a_stage_of_their_own_and_the_cost_of_forward_passes(tmp_path: Path) -> None:
    own = {"f": FEATURES, "l": {**FEATURES, "features": "last"}, "t": {**FEATURES, "encoder": "trained"}}
    declared = experiment(tmp_path, reviews(tmp_path), ("reviews", *own), **own)
    found = stages(declared)
    tuned = found["f#1"].declaration
    assert isinstance(tuned, FineTuneStage)
    assert isinstance(tuned.own_task, ResolvedFeatures)
    assert tuned.own_task.table is not None
    assert tuned.own_task.table.labels == ("negative", "positive")
    assert len({found[label].key for label in ("reviews#1", "f#1", "l#1", "t#1")}) == 4
    assert stage_flops(found["t#1"]) == stage_flops(found["reviews#1"])
    epochs, train, dev = tuned.epochs, *stage_counts(found["examples f"])
    assert stage_flops(found["reviews#1"]) / stage_flops(found["f#1"]) == pytest.approx(
        (3 * epochs * train + dev) / (epochs * train + dev)
    )
    assert FineTuneStage.model_validate_json(tuned.model_dump_json()) == tuned


def stage_counts(stage: Stage) -> tuple[int, int]:
    declaration = stage.declaration
    assert isinstance(declaration, ExamplesStage)
    assert declaration.train_examples is not None
    assert declaration.dev_examples is not None
    return declaration.train_examples, declaration.dev_examples


def context(folder: Path, **inputs: Path) -> StageContext:
    (folder / "work").mkdir(parents=True)
    return StageContext(inputs, folder / "work", ProgressFile(folder / "progress.json"))


@pytest.mark.parametrize("task", ["reviews", "features"])
def test_a_table_is_encoded_learned_and_scored(task: str, tmp_path: Path) -> None:
    declared = experiment(tmp_path, reviews(tmp_path), (task,), features=FEATURES)
    found = stages(declared)
    encode, tune = found[f"examples {task}"].declaration, found[f"{task}#1"].declaration
    assert isinstance(encode, ExamplesStage)
    assert isinstance(tune, FineTuneStage)
    WORDS.save(tmp_path)
    made = context(tmp_path / "examples", tokens=tmp_path)
    result = as_result("examples", examples_stage.compute(encode, made))
    assert isinstance(result, ExamplesResult)
    assert (result.task, result.repeated_in_train, result.train.examples + result.dev.examples) == (task, 0, 160)
    assert result.chance is not None
    assert 35 < result.chance < 65  # of the majority class
    assert result.bag_of_words == {"accuracy": 100.0}
    arm = architecture(convolutions()[-1])
    tune = tune.model_copy(
        update={"architecture": arm, "epochs": 12, "batch_examples": 16, "peak_learning_rate": 1e-2, "dropout": 0.0}
    )
    checkpoint = build_fine_tuned(arm, "single", 2, "first", 0.0)
    initialise(checkpoint, 1)
    with torch.no_grad():
        checkpoint.encoder.embeddings.tokens.weight.mul_(20)  # so that random features differ between words
    save_checkpoint(tmp_path / CHECKPOINT, checkpoint, adamw(checkpoint, 0.0), {})
    tuned = context(tmp_path / "tuned", pretrained=tmp_path, examples=made.folder)
    assert fine_tune.compute(tune, tuned)["examples"] == result.dev.examples
    scores = part_scores(tune.downstream, made.folder, tuned.folder, None)["scores"]
    assert isinstance(scores, dict)
    assert float(str(scores["accuracy"])) > 85
    predictions = json.loads((tuned.folder / predictions_file("dev")).read_text())
    assert set(predictions) == {0, 1}


def test_a_sample_of_one_label_alone_is_refused(tmp_path: Path) -> None:
    lines = ["id,review,stars", *(f"{row},text {row},{'no' if row else 'yes'}" for row in range(40))]
    (tmp_path / "reviews.csv").write_text("\n".join(lines) + "\n")
    table = {"kind": "table", "dev_share": 0.2, "columns": COLUMNS, "train": str(tmp_path / "reviews.csv")}
    tuning = {"tasks": ("reviews",), "sequence_length": 16, "train_examples": 3, "own_tasks": {"reviews": table}}
    (tmp_path / "experiment").mkdir()
    stage = stages(simulated.experiment(tmp_path / "experiment", fine_tuning=tuning))["examples reviews"].declaration
    assert isinstance(stage, ExamplesStage)
    with pytest.raises(DataError, match=r"all 3 train examples that fine_tuning\.train_examples leaves have .* 'no'"):
        stage.examples(None)


def as_result(kind: str, result: dict[str, JsonValue]) -> object:
    return read_result(kind, Status.FINISHED, canonical_text(result))


TUNING = {"tasks": ["docs_pair", "docs_minimal_pairs"], "seeds": [1, 2], "sequence_length": 16}


def keys(experiment: Experiment) -> dict[str, str]:
    shared = shared_stages(experiment)
    stages = {**shared.by_label, **trial_stages(experiment, shared, experiment.baseline, 1)}
    return {label: stage.key for label, stage in stages.items()}


def told(experiment: Experiment) -> list[str]:
    return [str(violation) for violation in violations_of(experiment)]


def test_a_task_on_the_frozen_encoder_runs_once_whatever_the_fine_tuning_seeds(tmp_path: Path) -> None:
    asked = simulated.experiment(tmp_path, fine_tuning=TUNING)
    assert all_labels(asked) == ("pretrain@2560", "docs_minimal_pairs#0", "docs_pair#1", "docs_pair#2")
    stages = trial_stages(asked, shared_stages(asked), asked.baseline, 1)
    assert {label: stage.kind for label, stage in stages.items()} == {
        "pretrain@2560": "pretrain",
        "docs_minimal_pairs#0": "minimal_pairs",
        "docs_pair#1": "fine_tune",
        "docs_pair#2": "fine_tune",
    }


def test_untrained_encoders_change_no_other_key_and_are_evaluated_on_every_task(tmp_path: Path) -> None:
    without = simulated.experiment(tmp_path, fine_tuning=TUNING)
    asked = simulated.experiment(tmp_path, fine_tuning={**TUNING, "untrained_seeds": [1, 7]})
    before, after = keys(without), keys(asked)
    added = {label: key for label, key in after.items() if label not in before}
    assert {label: after[label] for label in before} == before
    assert list(added) == [
        f"untrained {what}"
        for seed in (1, 7)
        for what in (f"for tasks {seed}", f"docs_minimal_pairs#{seed}", f"docs_pair#{seed}")
    ]
    assert len({*added.values()}) == len(added)
    assert "untrained_seeds" not in str(canonical(without))


def test_an_untrained_encoder_is_fine_tuned_with_the_settings_of_trained_ones(tmp_path: Path) -> None:
    asked = simulated.experiment(tmp_path, fine_tuning={**TUNING, "untrained_seeds": [2]})
    shared = shared_stages(asked)
    trained = trial_stages(asked, shared, asked.baseline, 1)["docs_pair#2"]
    reference = shared.untrained["untrained docs_pair#2"]
    assert isinstance(reference.declaration, FineTuneStage)
    assert reference.declaration == trained.declaration.model_copy(update={"pretraining_seed": 2})
    assert reference.inputs["examples"].key == trained.inputs["examples"].key
    assert reference.inputs["pretrained"].kind == "untrained"
    assert reference.inputs["pretrained"].declaration.candidate == asked.baseline  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("tuning", "message"),
    [
        ({**TUNING, "untrained_seeds": [1, 1]}, "1 is listed twice"),
        (
            {**TUNING, "by_task": {"docs_minimal_pairs": {"epochs": 9, "dev_examples": 20}}},
            "changes nothing: docs_minimal_pairs is evaluated on the frozen encoder, which is not trained",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(tuning: dict[str, Any], message: str, tmp_path: Path) -> None:
    found = told(simulated.experiment(tmp_path, fine_tuning=tuning))
    assert len(found) == 1
    assert message in found[0]
