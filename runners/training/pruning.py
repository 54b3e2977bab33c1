"""Learns which units of a trained encoder to remove: scales under an L1 penalty, with the weights frozen.

SchuBERT: Khetan and Karnin 2020, arXiv 2005.06628. Units are removed in rounds, in equal parts of parameters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from runners.training.dropout import seed_dropout
from runners.training.loop import NotFinite, Step, TrainingData
from search_space.architecture import Architecture
from search_space.pruning import Group, Pruning, remaining, unit_costs
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.randomness import stream, stream_seed
from steeplechase.models.precision import autocast_to
from steeplechase.models.pruning import PrunableModel, live_units
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel


@dataclass(frozen=True)
class Pruned:
    """What remains of a model."""

    architecture: Architecture
    weights: Mapping[str, Tensor]
    """Of the model with its heads, by name; its outputs are those of the model with its learned scales."""


def pruned(
    model: PretrainingModel[Any], pruning: Pruning, data: TrainingData, steps: range, after: Callable[[Step], None]
) -> Pruned:
    """Learn the scales in `steps`, remove units to the target, and return what remains; the model is used up.

    `after` is called after every update. Raises NotFinite, and DataError if the penalty takes all scales of a
    dimension to 0.
    """
    architecture = data.candidate.architecture
    prunable = PrunableModel[Tensor](model, architecture)
    scales = {group: nn.Parameter(ones) for group, ones in prunable.ones(pruning.dimensions).items()}
    weights = _penalty_weights(pruning, architecture, tuple(scales))
    optimiser = torch.optim.Adam(scales.values(), lr=pruning.scale_learning_rate)
    surplus = architecture.parameters - pruning.target(architecture)
    for number, step in enumerate(steps, start=1):
        loss = _loss(prunable, scales, data, step)
        if not torch.isfinite(loss):
            raise NotFinite(Step(step + 1, loss.item(), {}, 0.0))
        optimiser.zero_grad()
        (loss + sum(weights[group] * values.abs().sum() for group, values in scales.items())).backward()
        before = {group: values.detach().clone() for group, values in scales.items()}
        optimiser.step()
        with torch.no_grad():
            for group, values in scales.items():
                values.mul_(values * before[group] > 0)  # a scale that would change its sign, and a removed one, is 0
            _refuse_empty(scales, pruning)
            if (rounds := number * pruning.rounds // len(steps)) > (number - 1) * pruning.rounds // len(steps):
                live = live_units(architecture, scales, architecture.parameters - surplus * rounds // pruning.rounds)
                for group, values in scales.items():
                    values.mul_(live[group])
        after(Step(step + 1, loss.item(), {}, 0.0))
    found = {group: values.detach() for group, values in scales.items()}
    sizes = {group: int((values != 0).sum()) for group, values in found.items()}
    return Pruned(remaining(architecture, sizes), prunable.compressed(found))


def _loss(prunable: PrunableModel[Tensor], scales: Mapping[Group, Tensor], data: TrainingData, step: int) -> Tensor:
    """Return the training loss of one batch with scales, without dropout."""
    recipe, random = data.candidate.recipe, stream(data.seed, "masking", step)
    seed_dropout(stream_seed(data.seed, "scales", step))
    sequences = data.batches.at(step, recipe.batch_sequences, data.seed)

    def loss_of(model: PretrainingModel[Any]) -> Tensor:
        model.eval()
        with autocast_to(recipe.precision, model.encoder.device):
            return model.loss(model.prepare(sequences, data.tokenizer, random), random)

    return prunable.evaluate(scales, loss_of)


def _penalty_weights(pruning: Pruning, architecture: Architecture, groups: tuple[Group, ...]) -> dict[Group, float]:
    """Return the weight of each group's L1 norm in the loss: in proportion to the parameters of its unit."""
    costs = unit_costs(architecture, groups)
    most = max(costs.values(), default=0) or 1
    return {group: pruning.penalty * cost / most for group, cost in costs.items()}


def _refuse_empty(scales: Mapping[Group, Tensor], pruning: Pruning) -> None:
    empty = [str(group) for group, values in scales.items() if not values.any()]
    if empty:
        more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
        which = f"every scale of {', '.join(empty[:3])}{more}"
        raise DataError(
            f"recipe.pruning.penalty: {pruning.penalty:g} takes {which} to 0; a smaller penalty keeps some"
        )
