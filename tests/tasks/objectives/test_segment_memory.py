"""Training with a memory of earlier segments: resumed as uninterrupted, held-out losses in order, copies learned."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from runners.training.checkpoint import load_checkpoint, save_checkpoint
from runners.training.loop import TrainingData, train
from runners.training.optimisers import build_optimiser
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import LanguageModel
from search_space.packing import Consecutive
from search_space.packing.sequences import Text
from search_space.recipe import Recipe
from search_space.schedule import ConstantSchedule
from steeplechase.tasks.contracts.small_candidates import text
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.language_model import LANES, Model
from steeplechase.tasks.packing import sequences_of
from tests.factories.small_experiments import WORDS, stir

LENGTH, ROWS = 9, 4


def candidate(memory: int = 6, **recipe: Any) -> Candidate:
    architecture = Architecture.model_validate(
        {
            "depth": 2, "width": 16, "embedding_width": 16, "heads": 2, "feed_forward_width": 24, "memory": memory,
            "vocabulary_size": WORDS.vocabulary_size, "position": "relative", "visibility": "left_to_right",
        }
    )  # fmt: skip
    settings = {"sequence_length": LENGTH, "batch_sequences": ROWS, "dropout": 0.1, "schedule": ConstantSchedule()}
    objective = LanguageModel(packing=Consecutive())
    made = Candidate(architecture=architecture, objective=objective, recipe=Recipe(**{**settings, **recipe}))
    assert recipe or [*made.violations()] == []
    return made


def data_of(learner: Candidate) -> TrainingData:
    packed = sequences_of(Text(text(), np.empty(0, np.int64), WORDS, LENGTH), learner.objective)
    return TrainingData(learner, packed, WORDS, 1, 1e9)


def test_a_resumed_training_gives_the_weights_and_the_memory_of_an_uninterrupted_one(tmp_path: Path) -> None:
    learner = candidate()
    weights = []
    for parts in ((range(6),), (range(3), range(3, 6))):
        model = build_model(learner, None, 1)
        optimiser = build_optimiser(model, learner.recipe)
        for number, steps in enumerate(parts):
            if number:  # as a new process would
                save_checkpoint(tmp_path / "checkpoint", model, optimiser, {})
                model = build_model(learner, None, 2)
                optimiser = build_optimiser(model, learner.recipe)
                load_checkpoint(tmp_path / "checkpoint", model, optimiser)
            train(model, data_of(learner), optimiser, steps, lambda step: None)
        weights.append(model.state_dict())
    assert "memory.states" in weights[0]
    assert weights[0]["memory.states"].any()
    for name, value in weights[0].items():
        assert torch.equal(value, weights[1][name]), name


@torch.no_grad()
def test_held_out_losses_are_those_of_one_pass_where_the_memory_is_whole() -> None:
    learner = candidate(memory=64)
    model = build_model(learner, None, 1)
    assert isinstance(model, Model)
    stir(model)
    model.eval()
    segments = data_of(learner).batches.evenly_spaced(2 * LANES, 1)
    batch = model.prepare(segments, WORDS, np.random.default_rng(1))
    evaluation_set = batch.evaluation_set(np.random.default_rng(1))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = model.held_out_losses(evaluation_set)
    for lane in range(LANES):
        rows = [2 * lane, 2 * lane + 1]
        stream = torch.from_numpy(np.concatenate([segments.tokens[rows[0]], segments.tokens[rows[1], 1:]]))
        logits = model.head(model.encoder(stream[None])[0], model.token_table)
        for place, row in enumerate(rows):
            at = torch.from_numpy(evaluation_set.positions[row]) + place * (LENGTH - 1)
            expected = cross_entropy(logits[at - 1], stream[at], reduction="none")
            assert np.allclose(found[row], expected.numpy(), atol=1e-4)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items()), (
        "measuring keeps nothing"
    )


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        (
            {"recipe": Recipe(micro_batches=2, sequence_length=LENGTH)},
            ("recipe", "micro_batches"),
            "a memory is of whole",
        ),
        ({"objective": LanguageModel()}, ("objective", "packing"), "6 tokens of memory need consecutive segments"),
    ],
)
def test_what_a_memory_needs_of_training_is_one_line(
    changes: dict[str, Any], path: tuple[str, ...], message: str
) -> None:
    wrong = candidate().model_copy(update=changes)
    (violation,) = (each for each in wrong.violations() if each.path == path)
    assert violation.message.startswith(message)
