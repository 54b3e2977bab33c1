"""Learns which units of a trained encoder to remove: scales by proximal gradient descent, the weights frozen.

SchuBERT: Khetan and Karnin 2020, arXiv 2005.06628. Units leave in equal parts of parameters after every update.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from foundation.errors import DataError
from foundation.randomness import stream, stream_seed
from models.precision import autocast_to
from models.pruning import PrunableModel, live_units
from runners.training.loop import NotFinite, Step, TrainingData
from search_space.architecture import Architecture
from search_space.pruning import Group, Pruning, remaining, unit_costs
from tasks.objectives.pretraining_model import PretrainingModel


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
    scales = prunable.ones(pruning.dimensions)
    shrinkage = _shrinkage(pruning, architecture, tuple(scales))
    surplus = architecture.parameters - pruning.target(architecture)
    for number, step in enumerate(steps, start=1):
        leaves = {group: values.clone().requires_grad_() for group, values in scales.items()}
        loss = _loss(prunable, leaves, data, step)
        loss.backward()  # type: ignore[no-untyped-call]
        if not torch.isfinite(loss):
            raise NotFinite(Step(step + 1, loss.item(), 0.0))
        for group, values in leaves.items():
            assert values.grad is not None
            moved = scales[group] - pruning.scale_learning_rate * values.grad
            shrunk = moved.sign() * (moved.abs() - shrinkage[group]).clamp_min(0)
            scales[group] = torch.where(scales[group] == 0, scales[group], shrunk)
        _refuse_empty(scales, pruning)
        live = live_units(architecture, scales, architecture.parameters - surplus * number // len(steps))
        scales = {group: values * live[group] for group, values in scales.items()}
        after(Step(step + 1, loss.item(), 0.0))
    sizes = {group: int((values != 0).sum()) for group, values in scales.items()}
    return Pruned(remaining(architecture, sizes), prunable.compressed(scales))


def _loss(prunable: PrunableModel[Tensor], scales: Mapping[Group, Tensor], data: TrainingData, step: int) -> Tensor:
    """Return the training loss of one batch with scales, without dropout."""
    recipe, random = data.candidate.recipe, stream(data.seed, "masking", step)
    torch.manual_seed(stream_seed(data.seed, "scales", step))
    sequences = data.batches.at(step, recipe.batch_sequences, data.seed)

    def loss_of(model: PretrainingModel[Any]) -> Tensor:
        model.eval()
        with autocast_to(recipe.precision, model.encoder.device):
            return model.loss(model.prepare(sequences, data.tokenizer, random), random)

    return prunable.evaluate(scales, loss_of)


def _shrinkage(pruning: Pruning, architecture: Architecture, groups: tuple[Group, ...]) -> dict[Group, float]:
    """Return by how much the penalty shrinks a scale per update: in proportion to the parameters of its unit."""
    costs = unit_costs(architecture, groups)
    most = max(costs.values(), default=0) or 1
    return {group: pruning.scale_learning_rate * pruning.penalty * cost / most for group, cost in costs.items()}


def _refuse_empty(scales: Mapping[Group, Tensor], pruning: Pruning) -> None:
    empty = [str(group) for group, values in scales.items() if not values.any()]
    if empty:
        more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
        which = f"every scale of {', '.join(empty[:3])}{more}"
        raise DataError(
            f"recipe.pruning.penalty: {pruning.penalty:g} takes {which} to 0; a smaller penalty keeps some"
        )
