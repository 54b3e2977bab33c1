"""Pruning as the last stage of pretraining: what it writes, what it refuses, and which units leave first."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from runners.computing import pretrain
from runners.computing.pruned import pruned
from runners.dag import shared_stages, trial_stages
from runners.stages.context import ProgressFile, StageContext
from runners.stages.pretrain import PRUNING_VERSION, PretrainStage
from runners.training.checkpoint import architecture_in, load_weights
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution import Dynamic
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.overrides import apply
from search_space.pruning import Pruning
from search_space.recipe import Recipe
from steeplechase.configuration.stage_label import UNPRUNED
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.build_encoder import build_encoder
from steeplechase.tasks.contracts.small_candidates import text
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.objectives import build_model
from tests.factories import simulated_training as simulated
from tests.factories.small_experiments import WORDS

SIZES: dict[str, Any] = {"depth": 2, "width": 16, "embedding_width": 16, "heads": 4, "feed_forward_width": 24}
ENCODER = Architecture(**SIZES, vocabulary_size=WORDS.vocabulary_size, positions=32)
RECIPE = Recipe(sequence_length=16, batch_sequences=4, peak_learning_rate=3e-3, dropout=0.0)
PRETRAINED_STEPS = 10


def learner(pruning: Pruning | None) -> Candidate:
    """Return a small BERT with this pruning."""
    recipe = RECIPE.model_copy(update={"pruning": pruning})
    return Candidate(architecture=ENCODER, objective=MaskedLanguageModel(), recipe=recipe)


def stage(pruning: Pruning | None) -> PretrainStage:
    """Return the stage that prunes, or the pretraining before it."""
    first = 0 if pruning is None else PRETRAINED_STEPS
    last = PRETRAINED_STEPS + (0 if pruning is None else pruning.updates(PRETRAINED_STEPS))
    return PretrainStage(
        candidate=learner(pruning),
        generator=None,
        seed=1,
        from_step=first,
        to_step=last,
        evaluation_steps=(last,),
        horizon_tokens=None if pruning else 10 * RECIPE.tokens_per_step,
        pruning_version=PRUNING_VERSION if pruning else None,
    )


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders that a stage that prunes reads."""
    root = tmp_path_factory.mktemp("inputs")
    folders = {name: root / name for name in ("tokens", "evaluation_set")}
    for folder in folders.values():
        folder.mkdir()
    WORDS.save(folders["tokens"])
    np.save(folders["tokens"] / "train.npy", text())
    shown = text(160).astype(np.int64).reshape(10, 16)
    everywhere = np.broadcast_to(np.arange(16), shown.shape).copy()
    EvaluationSet(shown, everywhere, shown % 2).save(folders["evaluation_set"])
    computed(stage(None), folders, root / "previous")
    return {**folders, "previous": root / "previous"}


def computed(declared: PretrainStage, inputs: dict[str, Path], folder: Path) -> dict[str, JsonValue]:
    """Compute a stage into a folder."""
    folder.mkdir(exist_ok=True)
    return pretrain.compute(declared, StageContext(inputs, folder, ProgressFile(folder.parent / "progress.json")))


def test_the_stage_writes_the_smaller_model_that_its_result_describes(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    pruning = Pruning(parameters_share=0.7, scale_share=0.5, recovery_share=0.4, rounds=2)
    result = computed(stage(pruning), inputs, tmp_path / "pruned")
    assert computed(stage(pruning), inputs, tmp_path / "again") == result
    architecture = architecture_in(tmp_path / "pruned", ENCODER)
    assert result["parameters"] == architecture.parameters <= learner(pruning).parameters
    assert Architecture.model_validate(result["architecture"]) == architecture
    load_weights(tmp_path / "pruned" / "checkpoint", build_encoder(architecture, 0.0), "encoder.")
    curve = result["held_out_curve"]
    assert isinstance(curve, list)
    assert [point[0] for point in curve if isinstance(point, list)] == [15 * 64, 19 * 64]
    assert curve[-1] == [result["tokens"], result["held_out_loss"]]
    assert architecture_in(inputs["previous"], ENCODER) is ENCODER


def test_units_without_an_effect_are_the_first_to_leave(inputs: dict[str, Path]) -> None:
    dead = 8
    pruning = Pruning(parameters_share=0.999, dimensions=("feed_forward_width",), penalty=1e-5, rounds=1)
    lost = 2 * dead * (2 * ENCODER.width + 1)
    pruning = pruning.model_copy(update={"parameters_share": (ENCODER.parameters - lost + 0.5) / ENCODER.parameters})
    data = pretrain.training_data_of(stage(pruning), inputs["tokens"])
    model = build_model(data.candidate, None, 1)
    load_weights(inputs["previous"] / "checkpoint", model)
    weights = dict(model.encoder.named_parameters())
    with torch.no_grad():
        for block in range(ENCODER.depth):
            up, bias, down = (
                weights[f"blocks.{block}.feed_forward.{name}"] for name in ("up.weight", "up.bias", "down.weight")
            )
            up.mul_(4)  # units whose effect is not noise
            down.mul_(4)
            up[:dead], bias[:dead], down[:, :dead] = 0, 0, 0
        expected = weights["blocks.0.feed_forward.up.weight"][dead:].clone()
    found = pruned(model, pruning, data, range(60), lambda step: None)
    assert found.architecture.feed_forward_width == ENCODER.feed_forward_width - dead
    assert torch.equal(found.weights["encoder.blocks.0.feed_forward.up.weight"], expected)


def test_the_training_before_pruning_is_that_of_the_arm_without_it(tmp_path: Path) -> None:
    objective = {"kind": "masked_language_model"}
    baseline = {"architecture": simulated.ARCHITECTURE, "objective": objective, "recipe": simulated.RECIPE}
    experiment = simulated.experiment(
        tmp_path, baseline=baseline, design={"kind": "list", "arms": {"wide": {"width": 64}}}
    )
    shared = shared_stages(experiment)
    plain = trial_stages(experiment, shared, experiment.baseline, 1)
    smaller = trial_stages(
        experiment, shared, apply(experiment.baseline, {"recipe.pruning.parameters_share": 0.5}), 1
    )
    (label,) = [label for label in plain if label.startswith("pretrain@")]
    assert smaller[UNPRUNED].key == plain[label].key
    assert not {stage.key for stage in plain.values()} & {smaller[each].key for each in plain}
    assert [*smaller] == [UNPRUNED, *plain]


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"parameters_share": 0.01}, "0.01 is out of reach"),
    ({"sharing": "all"}, {}, "sharing all"),
    ({"convolution": Dynamic(kernel_size=3)}, {}, "convolution dynamic"),
    ({"feed_forward_groups": 2}, {}, "1 group"),
    ({"bottleneck_ratio": 2}, {}, "ratio 1"),
    ({"layers": "s s f"}, {}, r"\(s f\)\*n"),
    ({"embedding_width": 8}, {}, "embedding_width 8 differs from width 16"),
    ({}, {"dimensions": ("width", "width")}, "named twice"),
]


@pytest.mark.parametrize(("architecture", "pruning", "expected"), REFUSED)
def test_what_cannot_be_pruned_is_refused_in_one_line(
    architecture: dict[str, Any], pruning: dict[str, Any], expected: str
) -> None:
    declared = Pruning(**{"parameters_share": 0.9, **pruning})
    encoder = Architecture(**{**SIZES, **architecture})
    (violation,) = declared.violations(encoder, MaskedLanguageModel())
    assert re.search(expected, violation.message)
    assert "\n" not in violation.message
