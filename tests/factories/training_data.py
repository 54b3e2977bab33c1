"""Small lessons and what a run of the training loop leaves behind, to be compared bit by bit."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from runners.training.checkpoint import load_checkpoint, save_checkpoint
from runners.training.loop import TrainingData, train
from runners.training.optimisers import build_optimiser
from search_space.candidate import Candidate
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel
from tests.factories.small_experiments import OBJECTIVES, SPAN_DYNAMIC, WORDS, batches_of, candidate, convolutions

HORIZON_STEPS = 40


def learners(dropout: float) -> list[Candidate]:
    """Return every convolution with masked language modelling, and one with every other objective."""
    return [
        candidate(convolution, objective, dropout)
        for objective in OBJECTIVES
        for convolution in (convolutions() if objective.kind == "masked_language_model" else [SPAN_DYNAMIC])
    ]


def name_of(learner: Candidate) -> str:
    return f"{learner.objective.kind}-{learner.architecture.convolution.kind}"


def lesson(learner: Candidate, seed: int = 1) -> TrainingData:
    batches = batches_of(learner.objective, learner.recipe.sequence_length)
    return TrainingData(learner, batches, WORDS, seed, HORIZON_STEPS * learner.recipe.tokens_per_step)


@dataclass
class Run:
    """A model in training, its optimiser and its losses so far."""

    lesson: TrainingData
    model: PretrainingModel[Any]
    optimiser: torch.optim.Optimizer
    losses: list[float] = field(default_factory=list)

    @classmethod
    def started(cls, learner: Candidate, seed: int = 1) -> "Run":
        generator = learner.objective.generator_of(learner.architecture, learner.architecture)
        model = build_model(learner, generator, seed)
        return cls(lesson(learner, seed), model, build_optimiser(model, learner.recipe))

    def train(self, first: int, last: int) -> "Run":
        train(self.model, self.lesson, self.optimiser, range(first, last), lambda step: self.losses.append(step.loss))
        return self

    def save(self, folder: Path, step: int) -> None:
        save_checkpoint(folder, self.model, self.optimiser, {"step": step})

    def load(self, folder: Path) -> int:
        step = load_checkpoint(folder, self.model, self.optimiser)["step"]
        assert isinstance(step, int)
        return step

    def state(self) -> dict[str, torch.Tensor]:
        """Return every weight and every moment by name."""
        found: dict[str, torch.Tensor] = {}
        for name, parameter in self.model.named_parameters():
            found[name] = parameter.detach()
            for moment, value in self.optimiser.state[parameter].items():
                found[f"{name}:{moment}"] = value
        return found


def assert_bitwise_equal(one: Run, other: Run) -> None:
    mine, theirs = one.state(), other.state()
    assert mine.keys() == theirs.keys()
    different = [name for name in mine if not torch.equal(mine[name], theirs[name])]
    assert different == []
