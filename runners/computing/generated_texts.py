"""Fine-tunes a writer of texts on sources and targets, and writes the texts it generates for unseen sources."""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from runners.computing.batches import epoch_batches
from runners.stages.context import Diverged, StageContext
from runners.stages.fine_tune import FineTuneStage
from runners.training.checkpoint import architecture_in, load_weights, save_weights, write_architecture
from runners.training.loop import seed_dropout
from runners.training.optimisers.adamw import adamw
from runners.training.sequence_to_sequence import (
    FirstStage,
    NotFiniteUpdate,
    TrainingSettings,
    mean_target_loss,
    train_pairs,
)
from runners.training.text_writer import ClozeModel, ClozeWriter, DecoderWriter, TextWriter, source_tensors
from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from steeplechase.configuration.fine_tuning import SourceEncoder
from steeplechase.foundation.randomness import stream, stream_seed
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.example_values import write_example_values
from steeplechase.ledger.paths import CHECKPOINT, SOURCE_TOKENIZER, example_scores_file, other_parts, predictions_file
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.devices import open_device
from steeplechase.models.encoder_decoder import EncoderDecoder, add_source_encoder, first_stage_parameters
from steeplechase.models.generation.search import Hypothesis, SearchSettings, beam_search, greedy_search
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.labelled.forms import EncodedTextPairs, load_text_pairs
from steeplechase.tasks.text_metrics.exact_match import NAME, matches
from steeplechase.tasks.tokenizer import SETTINGS_FILE, Tokenizer, load_tokenizer

SOURCES_AT_A_TIME = 64
FINE_TUNED = "fine_tuned"
SOURCE_ENCODER = "source_encoder"
"""The folder of a new source encoder's architecture, and of the tokenizer of sources where they have one."""


def compute(stage: FineTuneStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the trained weights and the generated texts of every part; return counts and losses. Raises Diverged."""
    tokenizer = load_tokenizer(context.inputs["tokens"])
    writer = text_writer(stage.architecture, tokenizer, stage.dropout, stage.generation.target_mask_share)
    load_pretrained(writer, context.inputs["pretrained"] / CHECKPOINT)
    if stage.generation.source_encoder is not None:
        new_source_encoder(writer, stage.generation.source_encoder, stage, context)
    writer.module.to(open_device(stage.device))
    _train(writer, load_text_pairs(context.inputs["examples"] / "train"), stage, context)
    save_weights(context.folder / FINE_TUNED, writer.module)
    counts: dict[str, JsonValue] = {}
    losses: dict[str, JsonValue] = {}
    score_files: dict[str, JsonValue] = {}
    for part in ("dev", *other_parts(context.inputs["examples"])):
        pairs = load_text_pairs(context.inputs["examples"] / part)
        texts = generated_texts(writer, pairs, tokenizer, stage, context)
        (context.folder / predictions_file(part)).write_text(json.dumps(texts, ensure_ascii=False))
        equal = {NAME: matches(texts, pairs.references)}
        score_files[part] = write_example_values(context.folder / example_scores_file(part), equal)
        counts[part], losses[part] = len(pairs), mean_target_loss(writer, pairs, _batches(writer, pairs))
    others = {part: count for part, count in counts.items() if part != "dev"}
    result: dict[str, JsonValue] = {"examples": counts["dev"], "example_scores": score_files, "target_losses": losses}
    return result | ({"others": others} if others else {})


def text_writer(
    architecture: Architecture, tokenizer: Tokenizer, dropout: float = 0.0, mask_share: float = 1.0
) -> TextWriter:
    """Return the writer of an architecture: an encoder–decoder, or a stack that was trained on [MASK]."""
    if not isinstance(architecture, EncoderDecoderArchitecture):
        return ClozeWriter(ClozeModel(architecture, dropout), tokenizer, mask_share)
    model = build_encoder(architecture, dropout)
    assert isinstance(model, EncoderDecoder)
    return DecoderWriter(model, tokenizer.classify)


def load_pretrained(writer: TextWriter, checkpoint: Path) -> None:
    """Read the pretrained weights, of a stack with its vocabulary head."""
    if isinstance(writer, ClozeWriter):
        load_weights(checkpoint, writer.model.encoder, "encoder.")
        load_weights(checkpoint, writer.model.head, "head.")
    else:
        load_weights(checkpoint, writer.module, "encoder.")


def new_source_encoder(
    writer: TextWriter, declared: SourceEncoder, stage: FineTuneStage, context: StageContext
) -> None:
    """Give a pretrained writer an encoder of the source with initial weights; write what `read_writer` needs."""
    assert isinstance(writer, DecoderWriter)
    model, folder = writer.model, context.folder / SOURCE_ENCODER
    architecture = declared.architecture(
        model.architecture, declared.vocabulary_size or model.architecture.vocabulary_size
    )
    encoder = add_source_encoder(model, architecture)
    initialise(nn.ModuleDict({SOURCE_ENCODER: encoder}), stream_seed(stage.root_seed, "source encoder"))
    folder.mkdir(exist_ok=True)
    write_architecture(folder, architecture)
    own_vocabulary = context.inputs["examples"] / SOURCE_TOKENIZER
    if own_vocabulary.is_dir():
        load_tokenizer(own_vocabulary).save(folder)


def read_writer(folder: Path, architecture: Architecture, tokenizer: Tokenizer) -> tuple[TextWriter, Tokenizer]:
    """Return the writer of a finished stage in `folder` with its weights, and the tokenizer of its sources."""
    writer, of_source = text_writer(architecture, tokenizer), folder / SOURCE_ENCODER
    if of_source.is_dir():
        assert isinstance(writer, DecoderWriter)
        add_source_encoder(writer.model, architecture_in(of_source, architecture))
        if (of_source / SETTINGS_FILE).exists():
            tokenizer = load_tokenizer(of_source)
    load_weights(folder / FINE_TUNED, writer.module)
    return writer, tokenizer


def _first_stage(writer: TextWriter, stage: FineTuneStage) -> FirstStage | None:
    """Return the first of two stages of training; None where there is one."""
    declared = stage.generation.source_encoder
    if declared is None:
        return None
    assert isinstance(writer, DecoderWriter)
    later = declared.second_stage_learning_rate or stage.peak_learning_rate
    return FirstStage(declared.first_stage_share, [*first_stage_parameters(writer.model).values()], later)


def _train(writer: TextWriter, pairs: EncodedTextPairs, stage: FineTuneStage, context: StageContext) -> None:
    settings = TrainingSettings(
        stage.epochs,
        stage.peak_learning_rate,
        stage.warmup_share,
        stage.generation.schedule,
        stage.label_smoothing,
        stage.generation.averaged_checkpoints,
        stage.precision,
        _first_stage(writer, stage),
    )
    try:
        train_pairs(
            writer,
            pairs,
            settings,
            adamw(writer.module, stage.weight_decay),
            lambda epoch: epoch_batches(pairs.sources, stage, epoch),
            lambda update: _draw_dropout(stage, update),
            lambda share, loss: context.progress(stage.task, share, loss),
        )
    except NotFiniteUpdate as fault:
        result: dict[str, JsonValue] = {"task": stage.task, "seed": stage.seed, "step": fault.update}
        raise Diverged(result | {"loss": str(fault.loss)}) from fault


def _draw_dropout(stage: FineTuneStage, update: int) -> np.random.Generator:
    """Seed the dropout of an update, and return the random stream of its masks."""
    seed_dropout(stream_seed(stage.root_seed, "fine-tuning dropout", update))
    return stream(stage.root_seed, "fine-tuning masks", update)


def generated_texts(
    writer: TextWriter,
    pairs: EncodedTextPairs,
    tokenizer: Tokenizer,
    stage: FineTuneStage,
    context: StageContext,
) -> list[str]:
    """Return the text that the model generates for every source, in their order."""
    settings = search_settings(stage, tokenizer, pairs.targets.shape[1])
    texts = [""] * len(pairs)
    batches = list(_batches(writer, pairs))
    for number, rows in enumerate(batches, start=1):
        context.progress(f"generating the texts of {stage.task}, batch {number} of {len(batches)}", 1.0)
        found = continued(writer, *source_tensors(pairs, rows, writer.device), settings)
        for row, hypothesis in zip(rows.tolist(), found, strict=True):
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
    writer: TextWriter, tokens: torch.Tensor, mask: torch.Tensor | None, settings: SearchSettings
) -> list[Hypothesis]:
    """Return the target of each source [batch source] by greedy search, or by beam search with more beams."""
    writer.module.eval()
    decoding, prompt = writer.decoding(tokens, mask, settings.beams)
    search = greedy_search if settings.beams == 1 else beam_search
    return search(decoding, prompt, settings)


def _batches(writer: TextWriter, pairs: EncodedTextPairs) -> Iterable[NDArray[np.int64]]:
    return writer.batches(np.asarray(pairs.sources.lengths), SOURCES_AT_A_TIME)
