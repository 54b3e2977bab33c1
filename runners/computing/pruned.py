"""Prunes a pretrained model and trains what remains: the last pretraining stage of a candidate with `recipe.pruning`.

Its folder has the checkpoint of the smaller model and the architecture that later stages build. A killed stage is
computed anew.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from runners.stages.context import Diverged, StageContext
from runners.stages.pretrain import PretrainStage
from runners.training.checkpoint import load_weights, save_checkpoint, write_architecture
from runners.training.loop import NotFinite, Step, TrainingData, held_out_losses, seed_dropout, train
from runners.training.optimisers import build_optimiser
from search_space.architecture import Architecture
from search_space.pruning import Group, Pruning, remaining, unit_costs
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.randomness import stream, stream_seed
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.example_values import described, write_example_values
from steeplechase.ledger.paths import HELD_OUT_LOSSES
from steeplechase.models.precision import autocast_to
from steeplechase.models.pruning import PrunableModel, live_units
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel, mean_loss


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


def prune(
    stage: PretrainStage, context: StageContext, data: TrainingData, unpruned: Path, checkpoint: Path
) -> dict[str, JsonValue]:
    """Read the checkpoint `unpruned`, write `checkpoint`; return the curves and what remains. Raises Diverged.

    The first point of the held-out curve is that of the smaller model before it is trained further.
    """
    recipe, pruning = stage.candidate.recipe, stage.candidate.recipe.pruning
    assert pruning is not None
    evaluation_set = EvaluationSet.load(context.inputs["evaluation_set"])
    pruned_at = stage.from_step + pruning.scale_updates(stage.from_step)
    train_curve: list[JsonValue] = []
    held_out_curve: list[JsonValue] = []

    def after(step: Step) -> None:
        train_curve.append([step.number * recipe.tokens_per_step, step.loss])
        share = (step.number - stage.from_step) / (stage.to_step - stage.from_step)
        context.progress("pruning", share, step.loss, step.tokens_per_second)

    def evaluate(step: int) -> float:
        losses = held_out_losses(model, evaluation_set, recipe.precision)
        if not math.isfinite(loss := mean_loss(losses)):
            raise NotFinite(Step(step, loss, {}, 0.0))
        held_out_curve.append([step * recipe.tokens_per_step, loss])
        write_example_values(context.folder / HELD_OUT_LOSSES, {HELD_OUT_LOSS: losses.ravel()})
        return loss

    try:
        model = _smaller_model(stage, data, unpruned, range(stage.from_step, pruned_at), after)
        loss = evaluate(pruned_at)
        if stage.to_step > pruned_at:
            _train_further(model, data, pruned_at, stage.to_step, after)
            loss = evaluate(stage.to_step)
    except NotFinite as error:
        tokens = error.step.number * recipe.tokens_per_step
        raise Diverged({"tokens": tokens, "loss": str(error.step.loss), "train_curve": train_curve}) from error
    save_checkpoint(checkpoint, model, build_optimiser(model, recipe), {"step": stage.to_step})
    write_architecture(context.folder, model.encoder.architecture)
    return {
        "tokens": stage.to_step * recipe.tokens_per_step,
        "held_out_loss": loss,
        "held_out_losses": described(context.folder / HELD_OUT_LOSSES, (HELD_OUT_LOSS,), evaluation_set.targets.size),
        "train_curve": train_curve,
        "held_out_curve": held_out_curve,
        "architecture": canonical(model.encoder.architecture),
        "parameters": model.encoder.architecture.parameters,
    }


def _smaller_model(
    stage: PretrainStage, data: TrainingData, unpruned: Path, steps: range, after: Callable[[Step], None]
) -> PretrainingModel[Any]:
    """Return the model without the units that the scales learned in `steps` remove."""
    candidate, pruning = stage.candidate, stage.candidate.recipe.pruning
    assert pruning is not None
    model = build_model(candidate, stage.generator, data.seed)
    load_weights(unpruned, model)
    found = pruned(model, pruning, data, steps, after)
    smaller = build_model(
        candidate.model_copy(update={"architecture": found.architecture}), stage.generator, data.seed
    )
    smaller.load_state_dict(dict(found.weights))
    return smaller


def _train_further(
    model: PretrainingModel[Any], data: TrainingData, pruned_at: int, to_step: int, after: Callable[[Step], None]
) -> None:
    """Train the model for the rest of the updates: the recipe's schedule anew, over batches of their own order."""
    recipe = data.candidate.recipe
    updates = to_step - pruned_at
    horizon = recipe.schedule.horizon(updates * recipe.tokens_per_step, updates * recipe.tokens_per_step)
    seed = stream_seed(data.seed, "after pruning")
    own = replace(data, seed=seed, horizon_tokens=math.inf if horizon is None else horizon)
    train(
        model,
        own,
        build_optimiser(model, recipe),
        range(updates),
        lambda step: after(replace(step, number=pruned_at + step.number)),
    )
