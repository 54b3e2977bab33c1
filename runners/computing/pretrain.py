"""Pretrains a candidate from one token count to the next and measures the held-out loss after given updates."""

import gc
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import Field

from runners.computing.pruned import prune
from runners.stages.context import Diverged, StageContext
from runners.stages.pretrain import PretrainStage
from runners.training.checkpoint import load_checkpoint, save_checkpoint
from runners.training.compilation import compiled_terms
from runners.training.data_parallel import group_of
from runners.training.loop import NotFinite, Step, TrainingData, held_out_losses, train
from runners.training.optimisers import build_optimiser
from runners.training.pretrained import load_initial_weights
from search_space.module_factories import PACKAGES
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.foundation.atomic_files import remove_directory
from steeplechase.foundation.errors import CorruptionError
from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.ledger.example_values import described, write_example_values
from steeplechase.ledger.paths import CHECKPOINT, HELD_OUT_LOSSES
from steeplechase.models.devices import forget_peak_memory, peak_memory
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel, mean_loss
from steeplechase.tasks.packing import open_split
from steeplechase.tasks.tokenizer import load_tokenizer

RESUME = "resume"
SECONDS_BETWEEN_CHECKPOINTS = 300.0
TRAIN_CURVE_POINTS = 200
PARTNER = "runners.computing.pretrain_partner"


def compute(stage: PretrainStage, context: StageContext) -> dict[str, JsonValue]:
    """Write a checkpoint; return the loss curves and the final held-out loss, in nats. Raises Diverged.

    Where a GPU's memory is too small, the stage goes on once from its checkpoint with twice the micro-batches, whose
    losses are the same to rounding, and the result says so.
    """
    more = stage.candidate.recipe.with_more_micro_batches
    try:
        return _computed(stage, context)
    except torch.OutOfMemoryError:
        if more is None:
            raise
    gc.collect()  # what the failed update held
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    context.progress(f"out of memory: again with {more.micro_batches} micro-batches", 0.0)
    smaller = stage.model_copy(update={"candidate": stage.candidate.model_copy(update={"recipe": more})})
    return {**_computed(smaller, context), "micro_batches_for_memory": more.micro_batches}


def _computed(stage: PretrainStage, context: StageContext) -> dict[str, JsonValue]:
    recipe = stage.candidate.recipe
    if recipe.pruning is not None:
        places = context.inputs["previous"] / CHECKPOINT, context.folder / CHECKPOINT
        return prune(stage, context, training_data_of(stage, context.inputs["tokens"]), *places)
    evaluation_set = EvaluationSet.load(context.inputs["evaluation_set"])
    begun = started(stage, context.inputs, context.folder)
    model, checkpoints, curves, device = begun.model, begun.checkpoints, begun.curves, begun.model.encoder.device
    forget_peak_memory(device)
    curve_interval = max(1, (stage.to_step - stage.from_step) // TRAIN_CURVE_POINTS)

    measured = partial(_measured, stage, begun, evaluation_set, context.folder)

    def after(step: Step) -> None:
        if step.number % curve_interval == 0 or step.number == stage.to_step:
            curves.add_training(recipe.tokens_after(step.number), step)
        if step.number in stage.evaluation_steps and not math.isfinite(loss := measured(step.number)):
            raise NotFinite(replace(step, loss=loss))
        checkpoints.save_if_due(step.number, curves)
        share = (step.number - stage.from_step) / (stage.to_step - stage.from_step)
        context.progress("pretraining", share, step.loss, step.tokens_per_second, peak_memory(device))

    def reads_model(number: int) -> bool:
        return checkpoints.due(number) or number in stage.evaluation_steps

    if stage.from_step == stage.to_step:  # larger batches than the baseline's reach two rungs with one update
        measured(stage.to_step)
    try:
        with group_of(recipe.processes, PARTNER, _partner_job(stage, context), recipe.device == "cuda") as group:
            steps = range(begun.completed_steps, stage.to_step)
            with compiled_terms(model, stage.candidate):
                train(model, begun.training_data, begun.optimiser, steps, after, group, reads_model)
    except NotFinite as error:
        tokens = recipe.tokens_after(error.step.number)
        raise Diverged({"tokens": tokens, "loss": str(error.step.loss), **curves.document()}) from error
    checkpoints.finish(stage.to_step, curves)
    final_tokens, final_loss = curves.held_out[-1]
    return {
        "tokens": final_tokens,
        "held_out_loss": final_loss,
        "held_out_losses": described(context.folder / HELD_OUT_LOSSES, (HELD_OUT_LOSS,), evaluation_set.targets.size),
        **({} if (peak := peak_memory(device)) is None else {"peak_bytes": peak}),
        **({"earlier_seconds": round(checkpoints.earlier_seconds, 3)} if checkpoints.earlier_seconds else {}),
        **curves.document(),
    }


def _measured(stage: PretrainStage, begun: "Started", examples: EvaluationSet, folder: Path, number: int) -> float:
    """Return the held-out loss after an update; keep one that is finite."""
    recipe = stage.candidate.recipe
    losses = held_out_losses(begun.model, examples, recipe.precision)
    if math.isfinite(loss := mean_loss(losses)):
        begun.curves.held_out.append([recipe.tokens_after(number), loss])
        if number == stage.to_step:
            write_example_values(folder / HELD_OUT_LOSSES, {HELD_OUT_LOSS: losses.ravel()})
    return loss


@dataclass(frozen=True)
class Started:
    """A stage's training before its first update, or at its last checkpoint."""

    model: PretrainingModel[Any]
    optimiser: torch.optim.Optimizer
    training_data: TrainingData
    checkpoints: "_Checkpoints"
    completed_steps: int
    curves: "_Curves"


def started(stage: PretrainStage, inputs: Mapping[str, Path], folder: Path) -> Started:
    """Return a stage's training, from the checkpoint in its folder if there is one, in every process of the stage."""
    training_data = training_data_of(stage, inputs["tokens"])
    model = build_model(stage.candidate, stage.generator, training_data.seed, inputs["tokens"])
    load_initial_weights(model.encoder, stage.init_checkpoint, stage.init_checkpoint_weights)
    optimiser = build_optimiser(model, stage.candidate.recipe)
    checkpoints = _Checkpoints(folder, model, optimiser)
    completed_steps, curves = checkpoints.resume(stage.from_step, inputs.get("previous"))
    return Started(model, optimiser, training_data, checkpoints, completed_steps, curves)


def _partner_job(stage: PretrainStage, context: StageContext) -> str:
    """Return what a further process of the stage needs, as JSON."""
    document = {
        "stage": stage.model_dump_json(),
        "inputs": {name: str(folder) for name, folder in context.inputs.items()},
        "folder": str(context.folder),
        "plugins": [[str(folder), sha256] for folder, sha256 in context.plugins],
        "packages": PACKAGES,
    }
    return json.dumps(document)


def train_discarded_model(stage: PretrainStage, tokens: Path) -> None:
    """Train a model of the stage's candidate for one update, as warm-up of the process. Raises NotFinite.

    One process reads the whole batch here, in parts as large as those of a process of the stage's group.
    """
    recipe = stage.candidate.recipe
    share = recipe.model_copy(update={"micro_batches": recipe.micro_batches * stage.processes})
    model = build_model(stage.candidate, stage.generator, recipe.root_seed(stage.seed), tokens)
    training_data = training_data_of(stage, tokens)
    candidate = training_data.candidate.model_copy(update={"recipe": share})
    training_data = replace(training_data, candidate=candidate)
    train(model, training_data, build_optimiser(model, recipe), range(1), lambda step: None)


def training_data_of(stage: PretrainStage, tokens: Path) -> TrainingData:
    """Return the batches, the seed and the horizon of the schedule from the folder of the tokens stage."""
    recipe = stage.candidate.recipe
    tokenizer = load_tokenizer(tokens)
    batches = open_split(tokens, "train", tokenizer, recipe.sequence_length, stage.candidate.objective)
    horizon = stage.horizon_tokens or math.inf
    return TrainingData(stage.candidate, batches, tokenizer, recipe.root_seed(stage.seed), horizon)


@dataclass
class _Curves:
    """Points (tokens, loss in nats) of the training loss, of its terms, and of the loss on the evaluation set."""

    train: list[list[float]] = field(default_factory=list)
    held_out: list[list[float]] = field(default_factory=list)
    terms: dict[str, list[list[float]]] = field(default_factory=dict)

    def add_training(self, tokens: int, step: Step) -> None:
        """Append the training loss of an update, and its terms."""
        self.train.append([tokens, step.loss])
        for name, loss in step.terms.items():
            self.terms.setdefault(name, []).append([tokens, loss])

    def document(self) -> dict[str, JsonValue]:
        terms: dict[str, JsonValue] = {name: [[*point] for point in points] for name, points in self.terms.items()}
        return {
            "train_curve": [[*point] for point in self.train],
            "held_out_curve": [[*point] for point in self.held_out],
            **({"term_curves": terms} if terms else {}),
        }


class _Checkpoints:
    """Checkpoints of a stage; a killed stage resumes from its last periodic one and gives the same result."""

    def __init__(self, folder: Path, model: PretrainingModel[Any], optimiser: torch.optim.Optimizer) -> None:
        self._folder, self._model, self._optimiser = folder, model, optimiser
        self._began = self._last_saved = time.monotonic()
        self._due_at = 0
        self.earlier_seconds = 0.0
        """Of killed processes, up to the checkpoint that the stage goes on from."""

    def resume(self, from_step: int, previous: Path | None) -> tuple[int, _Curves]:
        """Load the last checkpoint; return the number of completed updates and this stage's curves up to it.

        Raises CorruptionError if a file is damaged or the periodic checkpoint belongs to another stage.
        """
        periodic = self._folder / RESUME
        if periodic.is_dir():
            document = load_checkpoint(periodic, self._model, self._optimiser)
            state = _TrainingState.model_validate_json(json.dumps(document))
            if state.stage != self._folder.name:
                raise CorruptionError(
                    f"{periodic}: belongs to another stage, {state.stage}. Move it away and run again"
                )
            self.earlier_seconds = state.seconds
            return state.step, _Curves(state.train_curve, state.held_out_curve, state.term_curves)
        if previous is not None:
            load_checkpoint(previous / CHECKPOINT, self._model, self._optimiser)
        return from_step, _Curves()

    def due(self, step: int) -> bool:
        """Return whether the periodic checkpoint is to be written at an update: the last is older than its limit."""
        if time.monotonic() - self._last_saved < SECONDS_BETWEEN_CHECKPOINTS:
            return False
        self._due_at = step
        return True

    def save_if_due(self, step: int, curves: _Curves) -> None:
        """Write the periodic checkpoint at the update for which it was due."""
        if step != self._due_at:
            return
        seconds = self.earlier_seconds + time.monotonic() - self._began
        state = {**self._training_state(step, curves), "seconds": seconds}
        save_checkpoint(self._folder / RESUME, self._model, self._optimiser, state)
        self._last_saved = time.monotonic()

    def finish(self, step: int, curves: _Curves) -> None:
        """Write the stage's final checkpoint and delete the periodic one."""
        save_checkpoint(self._folder / CHECKPOINT, self._model, self._optimiser, self._training_state(step, curves))
        remove_directory(self._folder / RESUME)

    def _training_state(self, step: int, curves: _Curves) -> dict[str, JsonValue]:
        return {"stage": self._folder.name, "step": step, **curves.document()}


class _TrainingState(Schema):
    stage: str
    """Key of the stage, which is the name of its work folder."""
    step: int
    train_curve: list[list[float]]
    held_out_curve: list[list[float]]
    term_curves: dict[str, list[list[float]]] = Field(default_factory=dict)
    seconds: float = 0.0
    """Since the stage began, without those between a process's last checkpoint and its end."""
