"""Fine-tunes an encoder–decoder on sources and targets, and writes the texts it generates for unseen sources."""

import json
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from foundation.randomness import stream_seed
from foundation.schema import JsonValue
from ledger.example_values import write_example_values
from ledger.result_files import example_scores_file, other_parts, predictions_file
from models.build_encoder import build_encoder
from models.devices import open_device
from models.encoder_decoder import EncoderDecoder
from models.generation.decoding import target_decoding
from models.generation.search import Hypothesis, SearchSettings, beam_search, greedy_search
from runners.stages.batch_order import epoch_batches, root_seed
from runners.stages.context import Diverged, StageContext
from runners.stages.declarations import FineTuneStage
from runners.stages.pretrain import CHECKPOINT
from runners.training.checkpoint import load_weights, save_weights
from runners.training.optimisers.adamw import adamw
from runners.training.sequence_to_sequence import (
    NotFiniteUpdate,
    TrainingPairs,
    TrainingSettings,
    source_tensors,
    target_loss,
    train_pairs,
)
from tasks.labelled.text_pairs import EncodedTextPairs, load_text_pairs
from tasks.text_metrics.exact_match import NAME, matches
from tasks.tokenizer import Tokenizer, load_tokenizer

SOURCES_AT_A_TIME = 64
FINE_TUNED = "fine_tuned"


def compute(stage: FineTuneStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the trained weights and the generated texts of every part; return counts and losses. Raises Diverged."""
    tokenizer = load_tokenizer(context.inputs["tokens"])
    model = build_encoder(stage.architecture, stage.dropout)
    assert isinstance(model, EncoderDecoder)
    load_weights(context.inputs["pretrained"] / CHECKPOINT, model, "encoder.")
    model.to(open_device(stage.device))
    _train(model, load_text_pairs(context.inputs["examples"] / "train"), tokenizer, stage, context)
    save_weights(context.folder / FINE_TUNED, model)
    counts: dict[str, JsonValue] = {}
    losses: dict[str, JsonValue] = {}
    score_files: dict[str, JsonValue] = {}
    for part in ("dev", *other_parts(context.inputs["examples"])):
        pairs = load_text_pairs(context.inputs["examples"] / part)
        texts = generated_texts(model, pairs, tokenizer, stage, context)
        (context.folder / predictions_file(part)).write_text(json.dumps(texts, ensure_ascii=False))
        equal = {NAME: matches(texts, pairs.references)}
        score_files[part] = write_example_values(context.folder / example_scores_file(part), equal)
        counts[part], losses[part] = len(pairs), target_loss(model, pairs, tokenizer.classify, _batches(pairs))
    others = {part: count for part, count in counts.items() if part != "dev"}
    result: dict[str, JsonValue] = {"examples": counts["dev"], "example_scores": score_files, "target_losses": losses}
    return result | ({"others": others} if others else {})


def _train(
    model: EncoderDecoder,
    pairs: EncodedTextPairs,
    tokenizer: Tokenizer,
    stage: FineTuneStage,
    context: StageContext,
) -> None:
    settings = TrainingSettings(
        stage.epochs,
        stage.peak_learning_rate,
        stage.warmup_share,
        stage.generation.schedule,
        stage.label_smoothing,
        stage.generation.averaged_checkpoints,
        stage.precision,
    )
    try:
        train_pairs(
            model,
            TrainingPairs(pairs, tokenizer.classify),
            settings,
            adamw(model, stage.weight_decay),
            lambda epoch: epoch_batches(pairs.sources, stage, epoch),
            lambda update: _draw_dropout(stage, update),
            lambda share, loss: context.progress(stage.task, share, loss),
        )
    except NotFiniteUpdate as fault:
        result: dict[str, JsonValue] = {"task": stage.task, "seed": stage.seed, "step": fault.update}
        raise Diverged(result | {"loss": str(fault.loss)}) from fault


def _draw_dropout(stage: FineTuneStage, update: int) -> None:
    torch.manual_seed(stream_seed(root_seed(stage), "fine-tuning dropout", update))


def generated_texts(
    model: EncoderDecoder,
    pairs: EncodedTextPairs,
    tokenizer: Tokenizer,
    stage: FineTuneStage,
    context: StageContext,
) -> list[str]:
    """Return the text that the model generates for every source, in their order."""
    settings = search_settings(stage, tokenizer, pairs.targets.shape[1])
    texts = [""] * len(pairs)
    batches = list(_batches(pairs))
    for number, rows in enumerate(batches, start=1):
        context.progress(f"generating the texts of {stage.task}, batch {number} of {len(batches)}", 1.0)
        tokens, mask = source_tensors(pairs, rows, model.device)
        for row, hypothesis in zip(rows.tolist(), continued(model, tokens, mask, tokenizer, settings), strict=True):
            texts[row] = tokenizer.decode(hypothesis.tokens)
    return texts


def search_settings(stage: FineTuneStage, tokenizer: Tokenizer, longest: int) -> SearchSettings:
    """Return how the stage searches for a target of at most `longest` tokens."""
    return SearchSettings(
        end=tokenizer.separate,
        longest=stage.generation.longest_output or longest,
        beams=stage.generation.beams,
        length_penalty=stage.generation.length_penalty,
        forbidden=(tokenizer.pad, tokenizer.classify, tokenizer.mask),
    )


@torch.inference_mode()
def continued(
    model: EncoderDecoder,
    tokens: torch.Tensor,
    mask: torch.Tensor | None,
    tokenizer: Tokenizer,
    settings: SearchSettings,
) -> list[Hypothesis]:
    """Return the target of each source [batch source] by greedy search, or by beam search with more beams."""
    model.eval()
    source = model.encode(tokens, mask)
    prompt = torch.full((len(tokens), 1), tokenizer.classify, device=tokens.device)
    search = greedy_search if settings.beams == 1 else beam_search
    return search(target_decoding(model, source, settings.beams), prompt, settings)


def _batches(pairs: EncodedTextPairs) -> Iterator[NDArray[np.int64]]:
    """Yield the pairs in batches of sources of similar lengths."""
    order = np.argsort(np.asarray(pairs.sources.lengths), kind="stable")
    for first in range(0, len(order), SOURCES_AT_A_TIME):
        yield order[first : first + SOURCES_AT_A_TIME]
