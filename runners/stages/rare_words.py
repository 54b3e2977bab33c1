"""Trains embeddings of words from form and contexts on a frozen encoder, and measures them on words left out.

BERTRAM: Schick and Schütze 2020, arXiv 1910.07181.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from foundation.errors import DataError
from foundation.randomness import stream
from foundation.schema import JsonValue
from models.devices import open_device
from models.encoder import Encoder
from runners.stages.context import StageContext
from runners.stages.measurement_declarations import RareWordsStage
from runners.stages.pretrain import CHECKPOINT
from runners.training.checkpoint import architecture_in, load_weights
from runners.training.mimicking import (
    Word,
    WordSource,
    embeddings_of,
    explained_variance,
    frequent_words,
    mimicking_model,
    train_to_mimic,
)
from tasks.rare_words.ngrams import NgramTable
from tasks.tokenizer import load_tokenizer
from tasks.tokens import read_tokens


def compute(stage: RareWordsStage, context: StageContext) -> dict[str, JsonValue]:
    """Return how well the embeddings of unseen words are mimicked. Raises DataError where words are too few."""
    encoder = Encoder(architecture_in(context.inputs["pretrained"], stage.architecture), 0.0)
    load_weights(context.inputs["pretrained"] / CHECKPOINT, encoder, "encoder.")
    encoder = encoder.to(open_device(stage.device))
    tokenizer, tokens = load_tokenizer(context.inputs["tokens"]), read_tokens(context.inputs["tokens"] / "train.npy")
    tokens = tokens[: stage.text_tokens]
    words = frequent_words(tokens, tokenizer, stage.occurrences)
    split = _split(stage, words)
    ngrams = NgramTable.of([word.text for word in split.taught], stage.settings)
    source = WordSource(tokens, tokenizer, ngrams, stage.settings)
    model = mimicking_model(encoder, source, stage.seed)
    context.progress(f"mimicking {len(split.taught)} words", 0.0)
    errors = train_to_mimic(model, split.taught, source, stage.seed)
    held_out = _embeddable(split.held_out, ngrams)
    targets = encoder.embeddings.tokens.weight.detach()[[word.pieces[0] for word in held_out]]
    found = embeddings_of(model, held_out, source)
    return {
        "variant": stage.settings.variant,
        "taught": len(split.taught),
        "held_out": len(held_out),
        "explained_variance": explained_variance(found, targets),
        "cosine": _centred_cosine(found, targets),
        "training_error": {**errors},
    }


@dataclass(frozen=True)
class _Split:
    taught: tuple[Word, ...]
    held_out: tuple[Word, ...]


def _split(stage: RareWordsStage, words: tuple[Word, ...]) -> _Split:
    """Return the most frequent words in two parts, the same for all variants of a seed. Raises DataError."""
    by_count = sorted(words, key=lambda word: (-len(word.starts), word.text))[: stage.most_words]
    count = round(stage.held_out_share * len(by_count))
    if count < 2 or len(by_count) - count < 2:
        limit = f"measure.rare_words.occurrences {stage.occurrences}"
        raise DataError(
            f"{limit}: {len(by_count)} words of one token occur as often; too few to train and to measure"
        )
    order = stream(stage.seed, "words left out").permutation(len(by_count))
    return _Split(*(tuple(by_count[row] for row in np.sort(rows)) for rows in (order[count:], order[:count])))


def _embeddable(words: tuple[Word, ...], ngrams: NgramTable) -> tuple[Word, ...]:
    """Return the words with an n-gram in the table; for `context` too, so that variants have the same words."""
    found = tuple(word for word in words if ngrams.known(word.text))
    if len(found) < 2:
        raise DataError(f"{len(found)} of {len(words)} words left out have a known n-gram; lower ngram_words")
    return found


def _centred_cosine(found: Float[Tensor, "words width"], targets: Float[Tensor, "words width"]) -> float:
    mean = targets.mean(0)
    return float(torch.cosine_similarity(found - mean, targets - mean).mean())
