"""Embeddings of the rare words of a task's examples, from their form and contexts, to be read at fine-tuning.

BERTRAM: Schick and Schütze 2020, arXiv 1910.07181.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from runners.stages.context import StageContext
from runners.stages.measurement_declarations import WordEmbeddingsStage
from runners.stages.mimicking_inputs import MimickingInputs
from runners.stages.rarified_examples import rare_words_in
from runners.training.mimicking import (
    Word,
    WordSource,
    embeddings_of,
    found_words,
    mimicking_model,
    train_to_mimic,
)
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.rare_words import CONTEXT
from steeplechase.tasks.rare_words.ngrams import NgramTable

EMBEDDINGS = "embeddings.npy"


def compute(stage: WordEmbeddingsStage, context: StageContext) -> dict[str, JsonValue]:
    """Write an embedding for every rare word of the examples. Raises DataError where frequent words are too few."""
    read = MimickingInputs.read(stage, context)
    taught = read.most_frequent(stage.occurrences, stage.most_words, f"fine_tuning.own_tasks.{stage.task}")
    ngrams = NgramTable.of([word.text for word in taught], stage.settings)
    source = WordSource(read.tokens, read.tokenizer, ngrams, stage.settings)
    model = mimicking_model(read.encoder, source, stage.seed)
    context.progress(f"mimicking {len(taught)} words", 0.0)
    errors = train_to_mimic(model, taught, source, stage.seed)
    rare = found_words(rare_words_in(context.inputs["examples"]), read.tokens, read.tokenizer)
    with_form = [stage.settings.variant == CONTEXT or bool(ngrams.known(word.text)) for word in rare]
    table = _means_of_pieces(read.encoder.embeddings.tokens.weight.detach(), rare)
    rows = [row for row, known in enumerate(with_form) if known]
    if rows:
        table[rows] = embeddings_of(model, [rare[row] for row in rows], source)
    np.save(context.folder / EMBEDDINGS, table.float().cpu().numpy(), allow_pickle=False)
    return {
        "variant": stage.settings.variant,
        "taught": len(taught),
        "words": len(rare),
        "without_ngram": len(rare) - len(rows),
        "training_error": {**errors},
    }


def word_embeddings_in(folder: Path) -> Float[Tensor, "words embedding"]:
    """Return the embeddings in a stage's folder, in the order of the words' tokens."""
    return torch.from_numpy(np.load(folder / EMBEDDINGS, allow_pickle=False))


def _means_of_pieces(
    table: Float[Tensor, "vocab embedding"], words: Sequence[Word]
) -> Float[Tensor, "words embedding"]:
    return torch.stack([table[list(word.pieces)].mean(0) for word in words])
