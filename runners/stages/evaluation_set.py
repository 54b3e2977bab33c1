"""Builds the held-out evaluation set of an experiment: masked or replaced tokens, the same for every arm.

For masked language modelling, tokens of the validation split are masked. For replaced token detection (ELECTRA,
arXiv 2003.10555), the baseline's generator is first trained on the training split; it then samples the tokens at the
masked positions once.
"""

import numpy as np
import torch

from foundation.errors import DataError
from foundation.randomness import stream
from foundation.schema import JsonValue
from models.kernels.vocabulary_cross_entropy import sample_tokens
from models.precision import autocast_to
from runners.stages.context import StageContext
from runners.stages.declarations import EvaluationSetStage
from runners.training.loop import Step, TrainingData, train
from runners.training.optimisers import build_optimiser
from search_space.objective import MaskedLanguageModel
from tasks.batches import Batches
from tasks.evaluation_set import EvaluationSet
from tasks.masking import MaskedBatch, mask
from tasks.objectives import build_model, masked_language_model
from tasks.progress import place
from tasks.tokenizer import Tokenizer, load_tokenizer
from tasks.tokens import read_tokens

EVALUATION_SEED = 20081901  # arbitrary; the evaluation set is the same for every pretraining seed


def compute(stage: EvaluationSetStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the evaluation set; return its number of sequences and of predicted positions. Raises DataError."""
    tokens = context.inputs["tokens"]
    tokenizer = load_tokenizer(tokens)
    held_out = Batches(read_tokens(tokens / "validation.npy"), tokenizer, _sequence_length(stage))
    masked = _masked_sequences(stage, context, held_out, tokenizer)
    evaluation_set = EvaluationSet(masked.inputs, masked.masked_positions, masked.targets)
    if stage.objective == "replaced_token_detection":
        training_data = TrainingData(
            candidate=stage.reference,
            batches=Batches(read_tokens(tokens / "train.npy"), tokenizer, _sequence_length(stage)),
            tokenizer=tokenizer,
            seed=EVALUATION_SEED,
            horizon_tokens=stage.generator_tokens,
        )
        evaluation_set = _replaced_sequences(stage, training_data, masked, context)
    evaluation_set.save(context.folder)
    return {"sequences": len(evaluation_set.inputs), "questions": int(evaluation_set.targets.size)}


def _sequence_length(stage: EvaluationSetStage) -> int:
    return stage.reference.recipe.sequence_length


def _masked_sequences(
    stage: EvaluationSetStage, context: StageContext, batches: Batches, tokenizer: Tokenizer
) -> MaskedBatch:
    """Return evenly spaced sequences of the validation split, masked. Raises DataError if it has too few."""
    if batches.sequences < stage.sequences:
        message = f"the validation split gives {batches.sequences} sequences; {stage.sequences} are needed"
        raise DataError(f"{message} (pretraining.held_out_sequences)")
    context.progress(f"building the held-out set: {stage.sequences:,} sequences", 0.0)
    chosen = np.linspace(0, batches.sequences - 1, stage.sequences).astype(np.int64)
    masking = stage.reference.objective
    assert isinstance(masking, MaskedLanguageModel)
    return mask(batches.sequence(chosen), masking, tokenizer, stream(EVALUATION_SEED, "held-out masking"))


def _replaced_sequences(
    stage: EvaluationSetStage, training_data: TrainingData, masked: MaskedBatch, context: StageContext
) -> EvaluationSet:
    """Train the generator and return the evaluation set with its samples at the masked positions."""
    recipe = stage.reference.recipe
    model = build_model(stage.reference, None, EVALUATION_SEED)
    assert isinstance(model, masked_language_model.Model)
    steps = recipe.steps(stage.generator_tokens)

    def after(step: Step) -> None:
        phase = place("training the reference generator", "update", step.number, steps)
        context.progress(phase, step.number / steps, step.loss, step.tokens_per_second)

    train(model, training_data, build_optimiser(model, recipe), range(steps), after)
    model.eval()
    random = stream(EVALUATION_SEED, "held-out sampling")
    inputs, targets = masked.inputs.copy(), np.zeros_like(masked.inputs)
    original = EvaluationSet(masked.inputs, masked.masked_positions, masked.targets)
    for rows, part in original.batches():
        phase = place("building the held-out set", "sequence", rows.start, len(inputs))
        context.progress(phase, rows.start / len(inputs))
        with torch.inference_mode(), autocast_to(recipe.precision, model.encoder.device):
            logits = model.predict(model.tensor(part.inputs), model.tensor(part.positions))
        uniforms = torch.from_numpy(random.random(len(logits), dtype=np.float32)).to(logits.device)
        samples = sample_tokens(logits, uniforms).cpu().numpy().reshape(part.targets.shape)
        np.put_along_axis(inputs[rows], part.positions, samples, axis=1)
        np.put_along_axis(targets[rows], part.positions, (samples != part.targets).astype(np.int64), axis=1)
    all_positions = np.broadcast_to(np.arange(inputs.shape[1]), inputs.shape).copy()
    return EvaluationSet(inputs, all_positions, targets)
