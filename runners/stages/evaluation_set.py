"""Builds the held-out evaluation set of an experiment: made by an objective, the same for every arm.

An objective may need a model for it: replaced token detection (ELECTRA, arXiv 2003.10555) trains the baseline's
generator on the training split first, and samples from it.
"""

from typing import Any

from runners.stages.context import StageContext
from runners.stages.declarations import EvaluationSetStage
from runners.stages.validation_sequences import require_sequences
from runners.training.loop import Step, TrainingData, train
from runners.training.optimisers import build_optimiser
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.objectives import build_model, model_class
from steeplechase.tasks.objectives.pretraining_model import EvaluationSource, PretrainingModel
from steeplechase.tasks.packing import open_split
from steeplechase.tasks.progress import place
from steeplechase.tasks.tokenizer import Tokenizer, load_tokenizer

EVALUATION_SEED = 20081901  # arbitrary; the evaluation set is the same for every pretraining seed


def compute(stage: EvaluationSetStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the evaluation set; return its number of sequences and of predicted positions. Raises DataError."""
    folder, recipe = context.inputs["tokens"], stage.reference.recipe
    tokenizer = load_tokenizer(folder)
    held_out = open_split(folder, "validation", tokenizer, recipe.sequence_length, stage.reference.objective)
    require_sequences("pretraining.held_out_sequences", stage.sequences, held_out.sequences)
    context.progress(f"building the held-out set: {stage.sequences:,} sequences", 0.0)
    sequences = held_out.evenly_spaced(stage.sequences, EVALUATION_SEED)
    generator = _reference_generator(stage, context, tokenizer) if stage.generator_tokens else None
    source = EvaluationSource(stage.reference, sequences, tokenizer, generator, context.progress)
    evaluation_set = model_class(stage.objective).evaluation_set(source)
    if not evaluation_set.targets.size:
        raise DataError("a sequence of the validation split has no token to predict")
    evaluation_set.save(context.folder)
    return {"sequences": len(evaluation_set.inputs), "questions": int(evaluation_set.targets.size)}


def _reference_generator(
    stage: EvaluationSetStage, context: StageContext, tokenizer: Tokenizer
) -> PretrainingModel[Any]:
    """Return the reference candidate's model, trained on the training split."""
    recipe = stage.reference.recipe
    folder, objective = context.inputs["tokens"], stage.reference.objective
    batches = open_split(folder, "train", tokenizer, recipe.sequence_length, objective)
    training_data = TrainingData(stage.reference, batches, tokenizer, EVALUATION_SEED, stage.generator_tokens)
    model = build_model(stage.reference, None, EVALUATION_SEED, folder)
    steps = recipe.steps(stage.generator_tokens)

    def after(step: Step) -> None:
        phase = place("training the reference generator", "update", step.number, steps)
        context.progress(phase, step.number / steps, step.loss, step.tokens_per_second)

    train(model, training_data, build_optimiser(model, recipe), range(steps), after)
    return model
