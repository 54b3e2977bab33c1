"""A language model's loss at fine-tuning and transferred layers: what arms lack for them is one line each."""

from pathlib import Path
from typing import Any

import pytest

from configuration.experiment import Experiment
from configuration.validation.experiment import violations_of
from runners.dag import shared_stages, trial_stages
from runners.stages.declarations import FineTuneStage
from search_space.output_layer import EmbeddingTable
from tests.factories import simulated_training as simulated

CAUSAL = {"visibility": "left_to_right", "embedding_width": 256}
MODEL = {"kind": "language_model", "output_layer": {"kind": "embeddings"}}
FEATURES = {"own": {"kind": "features", "of": "docs_pair", "lstm_width": 4}}
VARIANT = {"alone": {"kind": "variant", "of": "docs_pair"}}


def experiment(folder: Path, tuning: dict[str, Any], objective: dict[str, Any], **arms: Any) -> Experiment:
    settings = {"tasks": ["docs_pair"], "seeds": [1], "sequence_length": 16, **tuning}
    recipe = {"sequence_length": 16, "batch_sequences": 4}
    baseline = {"architecture": CAUSAL, "objective": objective, "recipe": recipe}
    design = {"kind": "list", "arms": arms or {"deep": {"depth": 14}}}
    return simulated.small_table(folder, baseline=baseline, design=design, fine_tuning=settings)


def lines(found: Experiment) -> list[str]:
    return [f"{'.'.join(map(str, each.path))}: {each.message}" for each in violations_of(found)]


MASKED = {"kind": "masked_language_model"}
CASES = [
    ({"language_model_weight": 0.5}, MASKED,
     "fine_tuning.language_model_weight: baseline, deep: pretrained without a language model; write 0"),
    ({"tasks": ["docs_pair", "own"], "own_tasks": FEATURES, "language_model_weight": 0.5}, MODEL,
     "fine_tuning.language_model_weight: own reads a BiLSTM, which predicts no tokens; write 0 in by_task.own"),
    ({"by_task": {"docs_pair": {"transferred_layers": 13}}}, MODEL,
     "fine_tuning.by_task.docs_pair.transferred_layers: 13 blocks of baseline has 12; allowed: 0 to 12"),
]  # fmt: skip


@pytest.mark.parametrize(("tuning", "objective", "line"), CASES)
def test_what_an_arm_lacks_is_one_line(
    tuning: dict[str, Any], objective: dict[str, Any], line: str, tmp_path: Path
) -> None:
    assert [each for each in lines(experiment(tmp_path, tuning, objective)) if each.startswith("fine_tuning")] == [
        line
    ]


def test_a_variant_has_its_own_settings_and_the_stages_know_the_output_layer(tmp_path: Path) -> None:
    tuning = {
        "tasks": ["docs_pair", "alone"],
        "own_tasks": VARIANT,
        "language_model_weight": 0.5,
        "by_task": {"alone": {"language_model_weight": 0.0, "transferred_layers": 2}},
    }
    found = experiment(tmp_path, tuning, MODEL)
    assert lines(found) == []
    stages = trial_stages(found, shared_stages(found), found.baseline, 1)
    both, alone = (stages[label].declaration for label in ("docs_pair#1", "alone#1"))
    assert isinstance(both, FineTuneStage)
    assert isinstance(alone, FineTuneStage)
    assert (both.output_layer, both.language_model_weight, both.transferred_layers) == (EmbeddingTable(), 0.5, None)
    assert (alone.output_layer, alone.language_model_weight, alone.transferred_layers) == (None, 0.0, 2)
    assert (alone.downstream.name, alone.downstream.metrics) == ("alone", both.downstream.metrics)
