"""Make the held-out questions of an experiment: one corrupted set, the same for every arm.

MaskedBatch language modelling covers tokens of the validation split. For replaced token detection a reference
generator, the baseline's, is first trained on the training split and then fills the covered positions once.
"""

import numpy as np
import torch

from foundation.errors import DataError
from foundation.randomness import stream
from foundation.schema import JsonValue
from models.kernels.vocabulary_cross_entropy import drawn_words
from models.precision import autocast_to
from runners.stages.context import StageContext
from runners.stages.declarations import EvaluationSetStage
from runners.training.loop import Step, TrainingData, train
from runners.training.optimiser import adamw
from search_space.objective import MaskedLanguageModel
from tasks.batches import Batches
from tasks.evaluation_set import EvaluationSet
from tasks.masking import MaskedBatch, mask
from tasks.objectives import build_model, masked_language_model
from tasks.progress import place
from tasks.tokenizer import WordPiece, load_tokenizer
from tasks.tokens import read_tokens

QUESTIONS_SEED = 20081901  # of no meaning; questions do not belong to any pretraining seed


def compute(stage: EvaluationSetStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the questions and return how many there are."""
    tokens = context.inputs["tokens"]
    words = load_tokenizer(tokens)
    masked = _masked(stage, context, Batches(read_tokens(tokens / "validation.npy"), words, _length(stage)), words)
    questions = EvaluationSet(masked.shown, masked.positions, masked.answers)
    if stage.objective == "replaced_token_detection":
        lesson = TrainingData(
            candidate=stage.reference,
            batches=Batches(read_tokens(tokens / "train.npy"), words, _length(stage)),
            words=words,
            seed=QUESTIONS_SEED,
            horizon_tokens=stage.generator_tokens,
        )
        questions = _replaced(stage, lesson, masked, context)
    questions.save(context.folder)
    return {"sequences": len(questions.shown), "questions": int(questions.answers.size)}


def _length(stage: EvaluationSetStage) -> int:
    return stage.reference.recipe.sequence_length


def _masked(stage: EvaluationSetStage, context: StageContext, batches: Batches, words: WordPiece) -> MaskedBatch:
    if batches.sequences < stage.sequences:
        message = f"the validation split gives {batches.sequences} sequences; {stage.sequences} were asked for"
        raise DataError(f"{message} (pretraining.held_out_sequences)")
    context.progress(f"building the held-out set: {stage.sequences:,} sequences", 0.0)
    chosen = np.linspace(0, batches.sequences - 1, stage.sequences).astype(np.int64)
    masking = stage.reference.objective
    assert isinstance(masking, MaskedLanguageModel)
    return mask(batches.sequence(chosen), masking, words, stream(QUESTIONS_SEED, "held-out masking"))


def _replaced(
    stage: EvaluationSetStage, lesson: TrainingData, masked: MaskedBatch, context: StageContext
) -> EvaluationSet:
    recipe = stage.reference.recipe
    model = build_model(stage.reference, None, QUESTIONS_SEED)
    assert isinstance(model, masked_language_model.Model)
    steps = recipe.steps(stage.generator_tokens)

    def after(step: Step) -> None:
        what, share = place("training the reference generator", "update", step.number, steps), step.number / steps
        context.progress(what, share, step.loss, step.tokens_per_second)

    optimiser = adamw(model, recipe.weight_decay, (recipe.adam_beta1, recipe.adam_beta2), recipe.adam_epsilon)
    train(model, lesson, optimiser, range(steps), after)
    model.eval()
    random = stream(QUESTIONS_SEED, "held-out sampling")
    shown, answers = masked.shown.copy(), np.zeros_like(masked.shown)
    whole = EvaluationSet(masked.shown, masked.positions, masked.answers)
    first = 0
    for part in whole.parts():
        what = place("building the held-out set", "sequence", first, len(shown))
        context.progress(what, first / len(shown))
        rows = slice(first, first := first + len(part.shown))
        with torch.inference_mode(), autocast_to(recipe.precision, model.encoder.device):
            logits = model.predict(model.tensor(part.shown), model.tensor(part.positions))
        uniforms = torch.from_numpy(random.random(len(logits), dtype=np.float32)).to(logits.device)
        samples = drawn_words(logits, uniforms).cpu().numpy().reshape(part.answers.shape)
        np.put_along_axis(shown[rows], part.positions, samples, axis=1)
        np.put_along_axis(answers[rows], part.positions, (samples != part.answers).astype(np.int64), axis=1)
    everywhere = np.broadcast_to(np.arange(shown.shape[1]), shown.shape).copy()
    return EvaluationSet(shown, everywhere, answers)
