"""Tasks on the frozen encoder and untrained encoders among an experiment's stages: labels, keys, what is refused."""

from pathlib import Path
from typing import Any

import pytest

from runners.dag import shared_stages, trial_stages
from runners.stage_labels import all_labels
from runners.stages.fine_tune import FineTuneStage
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.canonical import canonical
from tests.factories import simulated_training as simulated

TUNING = {"tasks": ["docs_pair", "docs_minimal_pairs"], "seeds": [1, 2], "sequence_length": 16}


def keys(experiment: Experiment) -> dict[str, str]:
    shared = shared_stages(experiment)
    stages = {**shared.named(), **trial_stages(experiment, shared, experiment.baseline, 1)}
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
