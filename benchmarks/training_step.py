"""A training step of ours, the training loop itself, beside a peer's on the same batches with the same weights."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from benchmarks.measuring import TOLERANCES, Figure, Pace, Size, check, compare, named, speed_figure
from runners.training.loop import TrainingData, train
from runners.training.optimisers import build_optimiser
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import Objective
from search_space.packing.stream import Batches
from search_space.recipe import Recipe
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS

TEXT_SEQUENCES = 64
HORIZON_TOKENS = 10**9
RATE = 1e-4


@dataclass
class Match:
    """Both sides with the same weights, and their training data."""

    data: TrainingData
    ours: PretrainingModel[Any]
    theirs: nn.Module
    """Has `loss(batch)`, a mean in nats."""
    baseline: Architecture
    """The architecture that a generator is derived from."""
    steps: int = field(default=0)

    def batch(self, number: int) -> Any:
        """Return the batch of a step, drawn as the training loop draws it."""
        recipe, data = self.data.candidate.recipe, self.data
        sequences = data.batches.at(number, recipe.batch_sequences, data.seed)
        return self.ours.prepare(sequences, data.tokenizer, np.random.default_rng(number))


def training_data(
    architecture: Architecture, objective: Objective, size: Size, precision: torch.dtype = torch.float32
) -> TrainingData:
    """Return random text of whole words, without dropout."""
    recipe = Recipe(sequence_length=size.length, batch_sequences=size.batch, dropout=0.0, precision=named(precision))
    candidate = Candidate(architecture=architecture, objective=objective, recipe=recipe)
    vocabulary = architecture.vocabulary_size
    tokenizer = WordPiece([*SPECIAL_TOKENS, *(f"w{number}" for number in range(vocabulary - 5))], lowercase=True)
    random = np.random.default_rng(1)
    text = random.integers(len(SPECIAL_TOKENS), vocabulary, TEXT_SEQUENCES * size.length).astype(np.uint16)
    return TrainingData(candidate, Batches(text, tokenizer, size.length), tokenizer, 1, HORIZON_TOKENS)


def agree(match: Match) -> None:
    """Compare the losses on the same batch. Raises Disagreement."""
    batch = match.batch(0)
    with torch.no_grad():
        ours, theirs = match.ours.loss(batch, np.random.default_rng(2)), match.theirs.loss(batch)  # type: ignore[operator]
    check("loss", ours, theirs, TOLERANCES[torch.float32])


def measure_step(match: Match, pace: Pace, precision: torch.dtype) -> Figure:
    """Return the ratio of the CPU times of a whole training step."""
    candidate = match.data.candidate
    tokens = candidate.recipe.batch_sequences * candidate.recipe.sequence_length
    compared = compare(_our_step(match), _their_step(match), pace, precision)
    speed = tokens / compared.their_seconds
    return speed_figure(compared, candidate.train_flops(tokens, match.baseline), f"peer {speed:,.0f} tokens/s")


def _our_step(match: Match) -> Callable[[], None]:
    """Return the training loop, one update at a time."""
    optimiser = build_optimiser(match.ours, match.data.candidate.recipe)

    def step() -> None:
        train(match.ours, match.data, optimiser, range(match.steps, match.steps + 1), lambda _: None)
        match.steps += 1

    return step


def _their_step(match: Match) -> Callable[[], None]:
    optimiser = torch.optim.AdamW(match.theirs.parameters(), lr=RATE)

    def step() -> None:
        loss: Tensor = match.theirs.loss(match.batch(match.steps))  # type: ignore[operator]
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        clip_grad_norm_(match.theirs.parameters(), match.data.candidate.recipe.gradient_norm_limit)
        optimiser.step()

    return step
