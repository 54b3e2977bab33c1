"""An experiment with an initial checkpoint: required equal fields, keys, and training."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from runners.dag import shared_stages, trial_stages
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.initial_checkpoint import WEIGHTS
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.checkpoints import pretrained_trial
from tests.factories.command_calls import Call
from tests.factories.local_models import MIXED, RELEASED, corpus, experiment, run, sized, stirred_start

ARCHITECTURE = sized(**RELEASED)


def document(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    """Return a table whose arms differ in how they are trained, from the start in `tmp_path`."""
    plain = experiment(tmp_path, "masked_language_model").model_dump(mode="json")
    plain["baseline"]["architecture"] = sized(**MIXED).model_dump()  # padding is no matter of weights
    plain["design"] = {"kind": "list", "arms": {"slow": {"recipe.peak_learning_rate": 1e-4}}}
    plain["tokenizer"] = {
        "kind": "vocabulary",
        "path": str(tmp_path / "start" / "vocab.txt"),
        "lowercase": True,
    }
    plain["pretraining"]["init_checkpoint"] = str(tmp_path / "start")
    return {**plain, **changes}


def refusal_lines(tmp_path: Path, call: Call, **changes: Any) -> list[str]:
    """Return what `plan` says against the experiment with these changes."""
    file = tmp_path / "experiment.yaml"
    file.write_text(json.dumps(document(tmp_path, **changes)))
    answer = call("plan", file)
    assert answer.code == (3 if answer.err else 0)
    return answer.err.splitlines()


def keys(wanted: Experiment, seed: int = 1) -> dict[str, str]:
    shared = shared_stages(wanted)
    stages = trial_stages(wanted, shared, wanted.baseline, seed)
    return {label: stage.key for label, stage in {**shared.named(), **stages}.items()}


def read(text: dict[str, Any]) -> Experiment:
    return Experiment.model_validate_json(json.dumps(text))


def test_every_arm_begins_with_the_checkpoints_encoder_and_seeded_heads(tmp_path: Path) -> None:
    weights = stirred_start(tmp_path / "start", ARCHITECTURE)
    started = document(tmp_path)
    started["baseline"]["recipe"] |= {"peak_learning_rate": 1e-30, "weight_decay": 0.0}  # nothing moves
    started["design"]["arms"] = {"awake": {"recipe.dropout": 0.0}}
    results = run(read(started), tmp_path / "results")
    for trial in ("baseline/1", "awake/1"):
        found = load_file(pretrained_trial(results, trial).stage / "checkpoint" / WEIGHTS)
        assert all(torch.equal(found[f"encoder.{name}"], value) for name, value in weights.items())
        assert found["head.transform.weight"].std() < 0.03  # drawn anew


def test_keys_include_the_checkpoints_weights_but_not_its_path(tmp_path: Path) -> None:
    corpus(tmp_path / "texts")
    stirred_start(tmp_path / "start", ARCHITECTURE)
    here = keys(read(document(tmp_path)))
    elsewhere = document(tmp_path)
    shutil.copytree(tmp_path / "start", tmp_path / "copy")
    elsewhere["pretraining"]["init_checkpoint"] = str(tmp_path / "copy")
    assert keys(read(elsewhere)) == here
    shutil.rmtree(tmp_path / "start")
    stirred_start(tmp_path / "start", ARCHITECTURE, seed=2)
    others = keys(read(document(tmp_path)))
    assert {label for label in here if others[label] != here[label]} == {"pretrain@512"}
    without = document(tmp_path)
    del without["pretraining"]["init_checkpoint"]
    assert {label for label in here if keys(read(without))[label] != here[label]} == {"pretrain@512"}


def test_only_a_trials_first_stage_reads_the_initial_checkpoint(tmp_path: Path) -> None:
    stirred_start(tmp_path / "start", ARCHITECTURE)
    hurdled = document(tmp_path, design={"kind": "search", "space": {"recipe.dropout": [0.0, 0.1]}})
    hurdled["pretraining"] |= {"hurdle": {"kind": "progressive_mean", "rungs": [256]}}
    wanted = read(hurdled)
    assert list(violations_of(wanted)) == []
    stages = trial_stages(wanted, shared_stages(wanted), wanted.baseline, 1)
    starts = [stage.declaration.model_dump()["init_checkpoint"] for stage in stages.values()]
    assert starts == [str(tmp_path / "start"), None]


def test_an_arm_with_another_architecture_is_an_error_with_its_name_and_fields(tmp_path: Path, call: Call) -> None:
    stirred_start(tmp_path / "start", ARCHITECTURE)
    arms = {
        "deep": {"depth": 3, "segments": 4},
        "wide": {"convolution.kernel_size": 7},
        "slow": {"recipe.dropout": 0.0},
    }
    deep_depth, deep_segments, wide = sorted(refusal_lines(tmp_path, call, design={"kind": "list", "arms": arms}))
    assert "pretraining.init_checkpoint: deep cannot be initialised from" in deep_depth
    assert "depth 3 here, 2 in the initial checkpoint" in deep_depth
    assert "segments 4 here, 2 in the initial checkpoint" in deep_segments
    assert "wide cannot be initialised" in wide
    assert '"kernel_size":7' in wide


def test_a_search_over_the_architecture_cannot_use_an_initial_checkpoint(tmp_path: Path, call: Call) -> None:
    stirred_start(tmp_path / "start", ARCHITECTURE)
    space = {"convolution.kernel_size": [5, 7], "recipe.dropout": [0.0, 0.1]}
    (line,) = refusal_lines(tmp_path, call, design={"kind": "search", "space": space})
    assert "design.space.convolution.kernel_size: would change the architecture" in line


@pytest.mark.parametrize(
    "tokenizer",
    [{"kind": "wordpiece"}, {"kind": "vocabulary", "path": "START", "lowercase": False}],
    ids=["another vocabulary", "another case"],
)
def test_text_is_read_with_the_checkpoints_vocabulary(tmp_path: Path, call: Call, tokenizer: dict[str, Any]) -> None:
    stirred_start(tmp_path / "start", ARCHITECTURE)
    file = str(tmp_path / "start" / "vocab.txt")
    written = {key: file if value == "START" else value for key, value in tokenizer.items()}
    (line,) = refusal_lines(tmp_path, call, tokenizer=written)
    assert f"write tokenizer: {{ kind: vocabulary, path: {file}, lowercase: true }}" in line


def test_a_missing_or_damaged_initial_checkpoint_is_an_error(tmp_path: Path, call: Call) -> None:
    assert "no initial checkpoint here; `steeplechase import" in refusal_lines(tmp_path, call)[0]
    stirred_start(tmp_path / "start", ARCHITECTURE)
    weights = tmp_path / "start" / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(CorruptionError, match="differs from the imported file"):
        shared_stages(read(document(tmp_path)))
    (tmp_path / "start" / "architecture.yaml").write_text("depth: 1\n")
    assert "architecture.yaml: differs from the imported file" in refusal_lines(tmp_path, call)[0]
