"""The pretraining loop, in the order of execution."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from runners.training.data_parallel import ALONE, Group
from runners.training.dropout import seed_dropout
from runners.training.optimisers.parameter_groups import set_rate
from search_space.candidate import Candidate
from search_space.packing.sequences import SequenceSource
from search_space.recipe import Recipe
from steeplechase.foundation.randomness import stream, stream_seed
from steeplechase.models.precision import Precision, autocast_to
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel, TrainingBatch
from steeplechase.tasks.tokenizer import Tokenizer


@dataclass(frozen=True)
class TrainingData:
    """Inputs of a training run."""

    candidate: Candidate
    batches: SequenceSource
    tokenizer: Tokenizer
    seed: int
    horizon_tokens: float
    """Tokens over which the schedule decays the learning rate; infinite if the rates do not depend on them."""


@dataclass(frozen=True)
class Step:
    """Result of one update."""

    number: int
    """Number of updates, including this one."""
    loss: float
    """Training loss before the update, in nats."""
    terms: Mapping[str, float]
    """The weighted terms of the loss that the objective names."""
    tokens_per_second: float
    """Mean since the start of the loop; for display, never part of a result."""


class NotFinite(Exception):
    """The training loss or a gradient was not finite: a result of the candidate, not an error of the program."""

    def __init__(self, step: Step) -> None:
        self.step = step
        super().__init__(f"loss {step.loss} at step {step.number}")


def train(
    model: PretrainingModel[Any],
    training_data: TrainingData,
    optimiser: torch.optim.Optimizer,
    steps: range,
    after: Callable[[Step], None],
    group: Group = ALONE,
) -> None:
    """Train the model for `steps` and call `after` after every update, with the other processes of the group.

    Every batch, its corruption and the dropout pattern are functions of the seed and the step alone, so a resumed
    loop gives the same weights as an uninterrupted one. Raises NotFinite, before the update, if the loss or the
    gradient norm is not finite.
    """
    recipe = training_data.candidate.recipe
    started = time.monotonic()
    for number in steps:
        model.train()
        model.start_update(number)
        random = stream(training_data.seed, "masking", number)
        seed_dropout(stream_seed(training_data.seed, "dropout", number, *part_of(group)))
        sequences = training_data.batches.at(number, recipe.batch_sequences, training_data.seed)
        batch = model.prepare(sequences, training_data.tokenizer, random)
        if group.rank:
            random = stream(training_data.seed, "masking", number, *part_of(group))
        set_rate(optimiser, rate_at(recipe, number, training_data.horizon_tokens))
        optimiser.zero_grad(set_to_none=True)
        loss, terms = accumulate_gradients(model, batch, recipe, random, group)
        gradient_norm = clip_grad_norm_(model.parameters(), recipe.gradient_norm_limit).item()
        tokens_per_second = (number + 1 - steps.start) * recipe.tokens_per_step / (time.monotonic() - started)
        named = dict(zip(training_data.candidate.objective.terms, terms, strict=False))
        step = Step(number + 1, loss, named, tokens_per_second)
        if not (math.isfinite(step.loss) and math.isfinite(gradient_norm)):
            raise NotFinite(step)
        optimiser.step()
        after(step)


def accumulate_gradients(
    model: PretrainingModel[Any],
    batch: TrainingBatch,
    recipe: Recipe,
    random: np.random.Generator,
    group: Group = ALONE,
) -> tuple[float, tuple[float, ...]]:
    """Add the gradient of the batch's mean loss, one micro-batch after another; return that loss and its terms.

    Each term of the loss is averaged over the predictions of the whole batch; a micro-batch counts by its share. Each
    process of the group computes its own micro-batches, and has the whole batch's gradient afterwards.
    """
    losses: list[Tensor] = []
    parts_of_terms: list[list[Tensor]] = []
    totals = model.predictions_of_terms(batch)
    own = recipe.micro_batches
    parts = batch.micro_batches(own * group.size)
    for part in islice(parts, group.rank * own, (group.rank + 1) * own):
        with autocast_to(recipe.precision, model.encoder.device):
            first, *others = shares = model.shares(part, totals, random)
        loss = sum(others, first)
        loss.backward()
        losses.append(loss.detach())
        parts_of_terms.append([share.detach() for share in shares])
    group.add_gradients(model)
    whole = group.total(sum(losses[1:], losses[0])).item()
    whole_terms = torch.stack([torch.stack(shares_of_part) for shares_of_part in parts_of_terms]).sum(0)
    return whole, tuple(group.total(whole_terms).tolist())


def part_of(group: Group) -> tuple[int, ...]:
    """Return the indices of a process's own random streams; the first process has those of one process alone."""
    return (group.rank,) if group.rank else ()


def held_out_losses(
    model: PretrainingModel[Any], evaluation_set: EvaluationSet, precision: Precision = "float32"
) -> NDArray[np.float32]:
    """Return the loss in nats of every prediction of the evaluation set [sequences predictions], without dropout."""
    model.eval()
    with torch.inference_mode(), autocast_to(precision, model.encoder.device):
        return model.held_out_losses(evaluation_set)


def rate_at(recipe: Recipe, step: int, horizon_tokens: float) -> float:
    """Return the learning rate of the update after `step` updates; it is never 0."""
    return recipe.rate_at(step, horizon_tokens)
