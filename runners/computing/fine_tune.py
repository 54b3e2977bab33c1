"""Fine-tunes a pretrained encoder on one task with one seed and writes its predictions on the evaluated parts."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Shaped
from numpy.typing import NDArray
from torch import Tensor

from runners.computing import generated_texts
from runners.computing.batches import epoch_batches
from runners.computing.squad_answers import answer_questions
from runners.stages.context import Diverged, StageContext
from runners.stages.fine_tune import FineTuneStage
from runners.stages.word_embeddings import EMBEDDINGS
from runners.training.checkpoint import architecture_in, load_weights
from runners.training.loop import seed_dropout
from runners.training.optimisers.adamw import adamw, layered_adamw
from runners.training.optimisers.parameter_groups import set_rate
from runners.training.readings import Readings
from search_space.architecture import Architecture
from search_space.output_layer import OutputLayer
from steeplechase.foundation.devices import Precision
from steeplechase.foundation.randomness import stream_seed
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.example_values import write_example_values
from steeplechase.ledger.paths import CHECKPOINT, example_scores_file, other_parts, predictions_file
from steeplechase.models.cast_weights import weights_cast
from steeplechase.models.devices import on_device, open_device
from steeplechase.models.downstream_model import FeatureReader, FineTuned, build_feature_model, build_fine_tuned
from steeplechase.models.heads.classification import NO_TAG, SpanHead
from steeplechase.models.initialisation import initialise
from steeplechase.models.language_model_loss import WithLanguageModel
from steeplechase.models.output_layer import build_output_layer
from steeplechase.models.precision import autocast_to
from steeplechase.models.rare_words import add_words
from steeplechase.tasks.labelled.encoding import EncodedExamples, load_examples
from steeplechase.tasks.labelled.forms import NO_POSITION, EncodedWords, load_words
from steeplechase.tasks.labelled.scoring import example_scores, references_of, sentence_scores
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks.derived import ResolvedFeatures

MAX_ANSWER_TOKENS = 30  # as in BERT's run_squad.py
EXAMPLES_PER_PREDICTION_BATCH = 64


def compute(stage: FineTuneStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the predictions and the score of every example; return the numbers of examples. Raises Diverged."""
    task = stage.downstream
    if task.form == "text_pair":
        return generated_texts.compute(stage, context)
    train = _training_set(task, context.inputs["examples"] / "train")
    model = _model(stage, task, architecture_in(context.inputs["pretrained"], stage.architecture))
    initialise(model, stream_seed(stage.root_seed, "head"))
    load_pretrained(stage, context.inputs["pretrained"] / CHECKPOINT, model)
    if "word_embeddings" in context.inputs:
        embeddings = np.load(context.inputs["word_embeddings"] / EMBEDDINGS, allow_pickle=False)
        add_words(model.encoder, torch.from_numpy(embeddings))
    model.to(open_device(stage.device))
    _train(model, train, stage, context)
    if task.squad is not None:
        logits = partial(_logits, model, precision=stage.precision)
        return answer_questions(task.squad, context, lambda rows: (row.numpy() for row in logits(rows)))
    counts: dict[str, JsonValue] = {}
    score_files: dict[str, JsonValue] = {}
    for part in ("dev", *other_parts(context.inputs["examples"])):
        folder = context.inputs["examples"] / part
        if task.form == "tags":
            counts[part], predictions, scores = _tagged(model, task, load_words(folder), stage, train.default_tag)
        else:
            counts[part], predictions, scores = _labelled(model, task, load_examples(folder), stage)
        (context.folder / predictions_file(part)).write_text(json.dumps(predictions))
        if scores is not None:
            score_files[part] = write_example_values(context.folder / example_scores_file(part), scores)
    others = {part: count for part, count in counts.items() if part != "dev"}
    return {"examples": counts["dev"], "example_scores": score_files} | ({"others": others} if others else {})


def _model(stage: FineTuneStage, task: DownstreamTask, architecture: Architecture) -> FineTuned:
    features = stage.own_task
    if not isinstance(features, ResolvedFeatures):
        model = build_fine_tuned(architecture, task.head_form, task.outputs, stage.pooling, stage.dropout)
        return model if stage.output_layer is None else _with_language_model(model, stage.output_layer, stage)
    reader = FeatureReader(
        features.features, features.lstm_width, features.lstm_layers, features.encoder == "trained"
    )
    return build_feature_model(architecture, task.head_form, task.outputs, reader, stage.pooling, stage.dropout)


def _with_language_model(model: FineTuned, option: OutputLayer, stage: FineTuneStage) -> FineTuned:
    head = build_output_layer(option, model.encoder.architecture)
    return WithLanguageModel(model.encoder, model.head, model.outputs, head, stage.language_model_weight)


def load_pretrained(stage: FineTuneStage, checkpoint: Path, model: FineTuned) -> None:
    """Read the transferred weights of the encoder, and those of a language model's output layer."""
    layers = stage.transferred_layers
    if layers is None:
        load_weights(checkpoint, model.encoder, "encoder.")
    else:
        transferred = partial(is_transferred, layers=layers, depth=len(model.encoder.blocks))
        load_weights(checkpoint, model.encoder, "encoder.", transferred)
    if isinstance(model, WithLanguageModel):
        load_weights(checkpoint, model.output_layer, "head.")


def is_transferred(name: str, layers: int, depth: int) -> bool:
    """Return whether a weight of the encoder is in the embeddings or the first `layers` blocks of `depth`."""
    first, _, rest = name.partition(".")
    if first == "blocks":
        return int(rest.partition(".")[0]) < layers
    return first in ("embeddings", "projection") or layers >= depth


@dataclass(frozen=True)
class _TrainingSet:
    """Encoded examples and the target of each."""

    examples: EncodedExamples
    targets: Shaped[Tensor, "examples columns"]
    """A label, a value, the start and end token of the answer, or the tag of every token."""
    default_tag: int = 0
    """The tag of words that were truncated."""


def _training_set(task: DownstreamTask, folder: Path) -> _TrainingSet:
    if task.form == "tags":
        words = load_words(folder)
        targets = torch.from_numpy(words.targets(NO_TAG).astype(np.int64))
        return _TrainingSet(words.sequences, targets, words.default_tag(task.labels))
    examples = load_examples(folder)
    if examples.values:
        return _TrainingSet(examples, torch.tensor(examples.values, dtype=torch.float32)[:, None])
    columns = (examples.starts, examples.ends) if task.form in ("span", "windows") else (examples.labels,)
    return _TrainingSet(examples, torch.from_numpy(np.stack([*map(np.asarray, columns)], 1).astype(np.int64)))


_Predicted = tuple[int, list[int] | list[float] | list[str], dict[str, Sequence[float]] | None]
"""Number of examples, predictions, and the scores of every example by metric, None without references."""


def _labelled(model: FineTuned, task: DownstreamTask, examples: EncodedExamples, stage: FineTuneStage) -> _Predicted:
    predictions = _predict(model, examples, stage, task.value_range)
    references = references_of(task, examples)
    scores = None if references is None else example_scores(task, predictions, references)
    return len(examples), predictions, scores


def _tagged(
    model: FineTuned, task: DownstreamTask, words: EncodedWords, stage: FineTuneStage, default_tag: int
) -> _Predicted:
    """Return one tag per word; `default_tag` for words that were truncated."""
    by_token = [row.argmax(-1).tolist() for row in _logits(model, words.sequences, stage.precision)]
    predictions = [
        default_tag if position == NO_POSITION else by_token[sequence][position]
        for sequence, position, _ in words.words.tolist()
    ]
    return len(words.sequences), predictions, sentence_scores(predictions, words)


def _train(model: FineTuned, train: _TrainingSet, stage: FineTuneStage, context: StageContext) -> None:
    optimiser = _optimiser(model, stage)
    readings = Readings(optimiser, model.encoder.device)
    batches = [batch for epoch in range(stage.epochs) for batch in epoch_batches(train.examples, stage, epoch)]
    for step, rows in enumerate(batches):
        model.train()
        seed_dropout(stream_seed(stage.root_seed, "fine-tuning dropout", step))
        set_rate(optimiser, stage.peak_learning_rate * _rate_multiplier(step, len(batches), stage.warmup_share))
        tokens, segments, padding_mask = _inputs(train.examples, rows, model.encoder.device)
        targets = on_device(train.targets[rows, : tokens.shape[1]].numpy(), model.encoder.device)
        device = model.encoder.device
        with autocast_to(stage.precision, device), weights_cast(model, device):
            loss = model.loss(tokens, segments, padding_mask, targets)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        gradient_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        readings.add(step, torch.stack([loss.detach(), gradient_norm]))
        if not readings.late:
            _report(readings, 0, stage, context, len(batches))
        optimiser.step()
        if readings.late:
            _report(readings, 0 if step == len(batches) - 1 else 1, stage, context, len(batches))


def _report(readings: Readings, leave: int, stage: FineTuneStage, context: StageContext, steps: int) -> None:
    """Report the losses that can be read but for the last `leave`. Raises Diverged."""
    for step, (loss, gradient_norm) in readings.read(leave):
        if not (math.isfinite(loss) and math.isfinite(gradient_norm)):
            raise Diverged({"task": stage.task, "seed": stage.seed, "step": step, "loss": str(loss)})
        context.progress(stage.task, step / steps, loss)


def _optimiser(model: FineTuned, stage: FineTuneStage) -> torch.optim.Optimizer:
    if stage.layer_rate_decay == 1:
        return adamw(model, stage.weight_decay)
    return layered_adamw(model, stage.architecture.depth, stage.weight_decay, stage.layer_rate_decay)


def _rate_multiplier(step: int, steps: int, warmup_share: float) -> float:
    """Return the factor on the peak learning rate: linear warm-up, then linear decay to 0 after the last update."""
    warmup = max(1.0, steps * warmup_share)
    return min((step + 1) / warmup, (steps - step) / max(1.0, steps - warmup), 1.0)


def _inputs(
    examples: EncodedExamples, rows: NDArray[np.int64], device: torch.device
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return tokens, segments and padding mask of the rows, cut to the longest of them; each [sequences seq].

    On an accelerator there is no mask where there is no padding: fused attention is faster without.
    """
    rows = examples.sequences_of(rows)
    lengths = np.asarray(examples.lengths)[rows]
    longest = int(lengths.max())
    tokens = on_device(np.asarray(examples.tokens)[rows, :longest].astype(np.int64), device)
    segments = on_device(np.asarray(examples.segments)[rows, :longest].astype(np.int64), device)
    if device.type != "cpu" and lengths.min() == longest:
        return tokens, segments, None
    return tokens, segments, on_device(np.arange(longest) < lengths[:, None], device)


def _predict(
    model: FineTuned, dev: EncodedExamples, stage: FineTuneStage, value_range: tuple[float, float] | None
) -> list[int] | list[float] | list[str]:
    """Return one label, one value clamped to `value_range`, or one answer text per example, in their order."""
    logits = _logits(model, dev, stage.precision)
    if value_range is not None:
        return [float(row[0].clamp(*value_range)) for row in logits]
    if not isinstance(model.head, SpanHead):
        return [int(row.argmax()) for row in logits]
    return [_answer_text(dev, example, row) for example, row in enumerate(logits)]


def _logits(model: FineTuned, rows: EncodedExamples, precision: Precision) -> Iterator[Tensor]:
    """Yield the logits of every example in order: [outputs], or [seq 2] and [seq tags] padded to its batch."""
    model.eval()
    for first in range(0, len(rows), EXAMPLES_PER_PREDICTION_BATCH):
        batch = np.arange(first, min(first + EXAMPLES_PER_PREDICTION_BATCH, len(rows)))
        with torch.inference_mode(), autocast_to(precision, model.encoder.device):
            logits = model(*_inputs(rows, batch, model.encoder.device)).float().cpu()
        yield from logits


def _answer_text(dev: EncodedExamples, example: int, logits: Tensor) -> str:
    """Return the text of the span of the second text with the largest sum of its two logits, of at most 30 tokens."""
    length = len(logits)
    inside = torch.from_numpy(np.asarray(dev.offsets)[example, :length, 0] >= 0)
    pair_scores = logits[:, None, 0] + logits[None, :, 1]
    possible = torch.ones(length, length, dtype=torch.bool).triu().tril(MAX_ANSWER_TOKENS - 1)
    possible &= inside[:, None] & inside[None, :]
    best = int(pair_scores.masked_fill(~possible, -torch.inf).argmax())
    return dev.answer_text(example, best // length, best % length)
