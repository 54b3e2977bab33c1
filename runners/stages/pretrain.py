"""Pretrains a candidate from one token mark to the next and evaluates the held-out loss at given updates."""

import json
import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from configuration.initial_checkpoint import WEIGHTS, read_initial_checkpoint
from configuration.metrics import HELD_OUT_LOSS
from foundation.atomic_files import remove_directory, remove_leftovers
from foundation.errors import CorruptionError
from foundation.schema import JsonValue, Schema
from ledger.example_values import described, write_example_values
from ledger.result_files import HELD_OUT_LOSSES
from runners.stages.context import Diverged, StageContext
from runners.stages.declarations import PretrainStage
from runners.training.checkpoint import load_checkpoint, load_weights, save_checkpoint
from runners.training.loop import NotFinite, Step, TrainingData, held_out_losses, train
from runners.training.optimiser import adamw
from search_space.recipe import Recipe
from tasks.batches import Batches
from tasks.evaluation_set import EvaluationSet
from tasks.objectives import build_model
from tasks.objectives.pretraining_model import PretrainingModel, mean_loss
from tasks.tokenizer import load_tokenizer
from tasks.tokens import read_tokens

CHECKPOINT, RESUME = "checkpoint", "resume"
SECONDS_BETWEEN_CHECKPOINTS = 300.0
TRAIN_CURVE_POINTS = 200


def compute(stage: PretrainStage, context: StageContext) -> dict[str, JsonValue]:
    """Return the loss curves and the final held-out loss, in nats. Raises Diverged."""
    recipe = stage.candidate.recipe
    training_data = training_data_of(stage, context.inputs["tokens"])
    evaluation_set = EvaluationSet.load(context.inputs["evaluation_set"])
    model = build_model(stage.candidate, stage.generator, recipe.root_seed(stage.seed))
    _load_initial_weights(stage, model)
    optimiser = _optimiser(model, recipe)
    keeper = _Resumer(context.folder, model, optimiser)
    done, curves = keeper.resume(stage.from_step, context.inputs.get("previous"))
    every = max(1, (stage.to_step - stage.from_step) // TRAIN_CURVE_POINTS)

    def after(step: Step) -> None:
        tokens = step.number * recipe.tokens_per_step
        if step.number % every == 0 or step.number == stage.to_step:
            curves.train.append([tokens, step.loss])
        if step.number in stage.evaluation_steps:
            losses = held_out_losses(model, evaluation_set, recipe.precision)
            loss = mean_loss(losses)
            if not math.isfinite(loss):
                raise NotFinite(replace(step, loss=loss))
            curves.held_out.append([tokens, loss])
            if step.number == stage.to_step:
                write_example_values(context.folder / HELD_OUT_LOSSES, {HELD_OUT_LOSS: losses.ravel()})
        keeper.keep(step.number, curves)
        share = (step.number - stage.from_step) / (stage.to_step - stage.from_step)
        context.progress("pretraining", share, step.loss, step.tokens_per_second)

    try:
        train(model, training_data, optimiser, range(done, stage.to_step), after)
    except NotFinite as end:
        seen = end.step.number * recipe.tokens_per_step
        raise Diverged({"tokens": seen, "loss": str(end.step.loss), **curves.document()}) from end
    keeper.finish(stage.to_step, curves)
    tokens, loss = curves.held_out[-1]
    kept = described(context.folder / HELD_OUT_LOSSES, (HELD_OUT_LOSS,), evaluation_set.targets.size)
    return {"tokens": tokens, "held_out_loss": loss, "held_out_losses": kept, **curves.document()}


def rehearse(stage: PretrainStage, tokens: Path) -> None:
    """Train a model of the stage's candidate for one update and discard it. Raises NotFinite."""
    recipe = stage.candidate.recipe
    model = build_model(stage.candidate, stage.generator, recipe.root_seed(stage.seed))
    train(model, training_data_of(stage, tokens), _optimiser(model, recipe), range(1), lambda step: None)


def _optimiser(model: PretrainingModel, recipe: Recipe) -> torch.optim.AdamW:
    return adamw(model, recipe.weight_decay, (recipe.adam_beta1, recipe.adam_beta2), recipe.adam_epsilon)


def training_data_of(stage: PretrainStage, tokens: Path) -> TrainingData:
    """Return the batches, seed and schedule that the stage trains with."""
    recipe = stage.candidate.recipe
    tokenizer = load_tokenizer(tokens)
    batches = Batches(read_tokens(tokens / "train.npy"), tokenizer, recipe.sequence_length)
    horizon = stage.horizon_tokens or stage.to_step * recipe.tokens_per_step
    return TrainingData(stage.candidate, batches, tokenizer, recipe.root_seed(stage.seed), horizon)


def _load_initial_weights(stage: PretrainStage, model: PretrainingModel) -> None:
    """Load the initial checkpoint into the encoder, if there is one; heads keep their random initialisation."""
    if stage.init_checkpoint is None:
        return
    initial = read_initial_checkpoint(Path(stage.init_checkpoint))
    if initial.weights_hash != stage.init_checkpoint_weights:
        raise CorruptionError(f"{initial.folder}: its weights changed after the run began; run again")
    initial.verify(WEIGHTS)
    load_weights(initial.folder, model.encoder)


@dataclass
class _Curves:
    """Losses in nats by tokens seen: training batches, and evaluation set."""

    train: list[list[float]] = field(default_factory=list)
    held_out: list[list[float]] = field(default_factory=list)

    def document(self) -> dict[str, JsonValue]:
        return {
            "train_curve": [[*point] for point in self.train],
            "held_out_curve": [[*point] for point in self.held_out],
        }


class _Resumer:
    """Periodic checkpoints of a long stage: a killed stage resumes from the last one, with the same result."""

    def __init__(self, folder: Path, model: PretrainingModel, optimiser: torch.optim.Optimizer) -> None:
        self._folder, self._model, self._optimiser = folder, model, optimiser
        self._kept = time.monotonic()

    def resume(self, from_step: int, previous: Path | None) -> tuple[int, _Curves]:
        """Return the updates already done, by this stage or the one before it, and this stage's curves so far."""
        periodic = self._folder / RESUME
        if periodic.is_dir():
            place = _Place.model_validate_json(json.dumps(load_checkpoint(periodic, self._model, self._optimiser)))
            if place.stage != self._folder.name:
                raise CorruptionError(
                    f"{periodic}: belongs to another stage, {place.stage}. Move it away and run again"
                )
            return place.step, _Curves(place.train_curve, place.held_out_curve)
        if previous is not None:
            load_checkpoint(previous / CHECKPOINT, self._model, self._optimiser)
        return from_step, _Curves()

    def keep(self, step: int, curves: _Curves) -> None:
        """Write a checkpoint if the last one is older than SECONDS_BETWEEN_CHECKPOINTS."""
        if time.monotonic() - self._kept < SECONDS_BETWEEN_CHECKPOINTS:
            return
        save_checkpoint(self._folder / RESUME, self._model, self._optimiser, self._place(step, curves))
        self._kept = time.monotonic()

    def finish(self, step: int, curves: _Curves) -> None:
        """Write the stage's final checkpoint and delete the periodic one."""
        save_checkpoint(self._folder / CHECKPOINT, self._model, self._optimiser, self._place(step, curves))
        remove_directory(self._folder / RESUME)
        remove_leftovers(self._folder)

    def _place(self, step: int, curves: _Curves) -> dict[str, JsonValue]:
        return {"stage": self._folder.name, "step": step, **curves.document()}


class _Place(Schema):
    stage: str
    """The key of the stage: the name of its work folder."""
    step: int
    train_curve: list[list[float]]
    held_out_curve: list[list[float]]
