"""The pretraining loop, in the order of execution.

Dropout is seeded before every update, so that a resumed training draws the same patterns.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from runners.training.data_parallel import ALONE, Group
from runners.training.optimisers.parameter_groups import set_rate
from runners.training.readings import Readings, prepared_batches
from search_space.candidate import Candidate
from search_space.packing.sequences import Sequences, SequenceSource, joined
from search_space.recipe import Recipe
from steeplechase.foundation.devices import Precision
from steeplechase.foundation.randomness import stream, stream_seed
from steeplechase.models.cast_weights import weights_cast
from steeplechase.models.precision import autocast_to
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
    """Mean since the start of the loop, without what is done between updates; for display, never part of a result."""


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
    reads_model: Callable[[int], bool] = lambda number: True,
) -> None:
    """Train the model for `steps` and call `after` after every update, with the other processes of the group.

    Every batch, its corruption and the dropout pattern are functions of the seed and the step alone, so a resumed
    loop gives the same weights as an uninterrupted one. Raises NotFinite, with the model as before the update, if the
    loss or the gradient norm is not finite. On an accelerator `after` may come one update late, but not for the
    numbers of updates at which it `reads_model`.
    """
    recipe, device = training_data.candidate.recipe, model.encoder.device
    readings = Readings(optimiser, device)
    watch = _Watch()
    read = partial(_steps_read, readings, training_data, steps.start, watch)
    prepare = partial(_prepared, model, training_data, group)
    batches = prepared_batches(prepare, steps, ahead=device.type != "cpu")
    for number, (batch, random) in zip(steps, batches, strict=True):
        model.train()
        model.start_update(number)
        seed_dropout(stream_seed(training_data.seed, "dropout", number, *part_of(group)))
        set_rate(optimiser, recipe.rate_at(number, training_data.horizon_tokens))
        optimiser.zero_grad(set_to_none=True)
        losses = accumulate_gradients(model, batch, recipe, random, group)
        gradient_norm = clip_grad_norm_(model.parameters(), recipe.gradient_norm_limit)
        readings.add(number + 1, torch.cat([losses, gradient_norm[None]]))
        done = [] if readings.late else [*read(leave=0)]
        optimiser.step()
        all_read = reads_model(number + 1) or number == steps[-1]
        for step in (*done, *read(leave=0 if all_read else 1)):
            with watch.stopped():
                after(step)


def seed_dropout(seed: int) -> None:
    """Seed the generators that dropout draws from.

    On a machine without an accelerator that is one; `torch.manual_seed` would record the call stack for the others.
    """
    if torch.accelerator.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


class _Watch:
    """The seconds of the updates, without those of what is done between them, such as evaluations."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @contextmanager
    def stopped(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._started += time.monotonic() - began


def _prepared(
    model: PretrainingModel[Any], training_data: TrainingData, group: Group, number: int
) -> tuple[TrainingBatch, np.random.Generator]:
    """Return the batch of the update that follows `number` updates, and the random stream of its loss."""
    random = stream(training_data.seed, "masking", number)
    batch: TrainingBatch = model.prepare(sequences_at(training_data, number), training_data.tokenizer, random)
    own = stream(training_data.seed, "masking", number, *part_of(group)) if group.rank else random
    return batch, own


def sequences_at(training_data: TrainingData, number: int) -> Sequences:
    """Return the sequences of the update that follows `number` updates: a function of the number and the seed alone.

    A batch of several times the smallest one is so many of those, one behind another.
    """
    recipe, batches, seed = training_data.candidate.recipe, training_data.batches, training_data.seed
    batch, unit = recipe.batch_of(number), recipe.smallest_batch
    places = range(batch.start // unit, batch.stop // unit)
    sequences = joined([batches.at(place, unit, seed) for place in places], training_data.tokenizer.pad)
    return replace(sequences, tokens_before=recipe.tokens_after(number))


def _steps_read(
    readings: Readings, training_data: TrainingData, first: int, watch: _Watch, leave: int
) -> Iterator[Step]:
    """Yield the updates that can be read but for the last `leave`. Raises NotFinite."""
    candidate = training_data.candidate
    for number, (loss, *terms, gradient_norm) in readings.read(leave):
        named = dict(zip(candidate.objective.terms, terms, strict=False))
        tokens = candidate.recipe.tokens_after(number) - candidate.recipe.tokens_after(first)
        step = Step(number, loss, named, tokens / watch.seconds)
        if not (math.isfinite(loss) and math.isfinite(gradient_norm)):
            raise NotFinite(step)
        yield step


def accumulate_gradients(
    model: PretrainingModel[Any],
    batch: TrainingBatch,
    recipe: Recipe,
    random: np.random.Generator,
    group: Group = ALONE,
) -> Float[Tensor, " losses"]:
    """Add the gradient of the batch's mean loss, one micro-batch after another; return that loss and then its terms.

    Each term of the loss is averaged over the predictions of the whole batch; a micro-batch counts by its share. Each
    process of the group computes its own micro-batches, and has the whole batch's gradient afterwards.
    """
    losses: list[Tensor] = []
    parts_of_terms: list[Tensor] = []
    totals = model.predictions_of_terms(batch)
    own = recipe.micro_batches
    parts = islice(batch.micro_batches(own * group.size), group.rank * own, (group.rank + 1) * own)
    for number, part in enumerate(parts, start=1):
        device, shares_of = model.encoder.device, group.shares_of(model, last=number == own)
        # weights that are cast together have their gradients together, at the end
        cast = nullcontext() if group.overlaps else weights_cast(model, device)
        with autocast_to(recipe.precision, device), cast:
            first, *others = shares = shares_of(part, totals, random)
        loss = sum(others, first)
        loss.backward()
        losses.append(loss.detach())
        parts_of_terms.append(torch.stack([share.detach() for share in shares]))
    group.add_gradients(model)
    whole = sum(losses[1:], losses[0])
    return group.total(torch.cat([whole[None], torch.stack(parts_of_terms).sum(0)]))


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
