"""Train a candidate from one token mark to the next, measuring the held-out loss on the way."""

import json
import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from configuration.initial_checkpoint import WEIGHTS, read_initial_checkpoint
from foundation.atomic_files import remove_directory, remove_leftovers
from foundation.errors import CorruptionError
from foundation.schema import JsonValue, Schema
from runners.stages.context import Diverged, StageContext
from runners.stages.declarations import PretrainStage
from runners.training.checkpoint import load_checkpoint, load_weights, save_checkpoint
from runners.training.loop import NotFinite, Step, TrainingData, held_out_loss, train
from runners.training.optimiser import adamw
from search_space.recipe import Recipe
from tasks.batches import Batches
from tasks.evaluation_set import EvaluationSet
from tasks.objectives import build_model
from tasks.objectives.pretraining_model import PretrainingModel
from tasks.tokenizer import load_tokenizer
from tasks.tokens import read_tokens

CHECKPOINT, RESUME = "checkpoint", "resume"
SECONDS_BETWEEN_CHECKPOINTS = 300.0
TRAIN_CURVE_POINTS = 200


def compute(stage: PretrainStage, context: StageContext) -> dict[str, JsonValue]:
    """Return the curves and the held-out loss at the end. Raises Diverged."""
    recipe = stage.candidate.recipe
    lesson = lesson_of(stage, context.inputs["tokens"])
    questions = EvaluationSet.load(context.inputs["evaluation_set"])
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
            loss = held_out_loss(model, questions, recipe.precision)
            if not math.isfinite(loss):
                raise NotFinite(replace(step, loss=loss))
            curves.held_out.append([tokens, loss])
        keeper.keep(step.number, curves)
        share = (step.number - stage.from_step) / (stage.to_step - stage.from_step)
        context.progress("pretraining", share, step.loss, step.tokens_per_second)

    try:
        train(model, lesson, optimiser, range(done, stage.to_step), after)
    except NotFinite as end:
        seen = end.step.number * recipe.tokens_per_step
        raise Diverged({"tokens": seen, "loss": str(end.step.loss), **curves.document()}) from end
    keeper.finish(stage.to_step, curves)
    tokens, loss = curves.held_out[-1]
    return {"tokens": tokens, "held_out_loss": loss, **curves.document()}


def rehearse(stage: PretrainStage, tokens: Path) -> None:
    """Train a model of the stage's candidate for one update and throw it away. Raises NotFinite."""
    recipe = stage.candidate.recipe
    model = build_model(stage.candidate, stage.generator, recipe.root_seed(stage.seed))
    train(model, lesson_of(stage, tokens), _optimiser(model, recipe), range(1), lambda step: None)


def _optimiser(model: PretrainingModel, recipe: Recipe) -> torch.optim.AdamW:
    return adamw(model, recipe.weight_decay, (recipe.adam_beta1, recipe.adam_beta2), recipe.adam_epsilon)


def lesson_of(stage: PretrainStage, tokens: Path) -> TrainingData:
    """Return what the stage's model is trained on."""
    recipe = stage.candidate.recipe
    words = load_tokenizer(tokens)
    batches = Batches(read_tokens(tokens / "train.npy"), words, recipe.sequence_length)
    horizon = stage.horizon_tokens or stage.to_step * recipe.tokens_per_step
    return TrainingData(stage.candidate, batches, words, recipe.root_seed(stage.seed), horizon)


def _load_initial_weights(stage: PretrainStage, model: PretrainingModel) -> None:
    """Put the start's weights into the encoder, where there is a start; heads keep what the seed drew."""
    if stage.init_checkpoint is None:
        return
    start = read_initial_checkpoint(Path(stage.init_checkpoint))
    if start.weights_hash != stage.init_checkpoint_weights:
        raise CorruptionError(f"{start.folder}: holds other weights than when the run began; run again")
    start.verify(WEIGHTS)
    load_weights(start.folder, model.encoder)


@dataclass
class _Curves:
    """Losses in nats by tokens seen: of the training batches, and of the held-out questions."""

    train: list[list[float]] = field(default_factory=list)
    held_out: list[list[float]] = field(default_factory=list)

    def document(self) -> dict[str, JsonValue]:
        return {
            "train_curve": [[*point] for point in self.train],
            "held_out_curve": [[*point] for point in self.held_out],
        }


class _Resumer:
    """Keeps the place in a long stage, so that a killed one loses minutes and its result stays the same."""

    def __init__(self, folder: Path, model: PretrainingModel, optimiser: torch.optim.Optimizer) -> None:
        self._folder, self._model, self._optimiser = folder, model, optimiser
        self._kept = time.monotonic()

    def resume(self, from_step: int, previous: Path | None) -> tuple[int, _Curves]:
        """Return the updates already done, by this stage or the one before it, and this stage's curves so far."""
        mine = self._folder / RESUME
        if mine.is_dir():
            place = _Place.model_validate_json(json.dumps(load_checkpoint(mine, self._model, self._optimiser)))
            if place.stage != self._folder.name:
                raise CorruptionError(f"{mine}: belongs to another stage, {place.stage}. Move it away and run again")
            return place.step, _Curves(place.train_curve, place.held_out_curve)
        if previous is not None:
            load_checkpoint(previous / CHECKPOINT, self._model, self._optimiser)
        return from_step, _Curves()

    def keep(self, step: int, curves: _Curves) -> None:
        """Write a checkpoint when the last one is old."""
        if time.monotonic() - self._kept < SECONDS_BETWEEN_CHECKPOINTS:
            return
        save_checkpoint(self._folder / RESUME, self._model, self._optimiser, self._place(step, curves))
        self._kept = time.monotonic()

    def finish(self, step: int, curves: _Curves) -> None:
        """Write the stage's own checkpoint and drop what only a killed run would have needed."""
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
