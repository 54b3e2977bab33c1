"""Trains embeddings of words from form and contexts on a frozen encoder, and measures them on words left out.

BERTRAM: Schick and Schütze 2020, arXiv 1910.07181.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from runners.stages.context import StageContext
from runners.stages.measurement_declarations import RareWordsStage
from runners.stages.mimicking_inputs import MimickingInputs
from runners.training.mimicking import (
    Word,
    WordSource,
    embeddings_of,
    explained_variance,
    mimicking_model,
    train_to_mimic,
)
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.randomness import stream
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.rare_words.ngrams import NgramTable


def compute(stage: RareWordsStage, context: StageContext) -> dict[str, JsonValue]:
    """Return how well the embeddings of unseen words are mimicked. Raises DataError where words are too few."""
    read = MimickingInputs.read(stage, context)
    encoder = read.encoder
    split = _split(stage, read.most_frequent(stage.occurrences, stage.most_words, "measure.rare_words"))
    ngrams = NgramTable.of([word.text for word in split.taught], stage.settings)
    source = WordSource(read.tokens, read.tokenizer, ngrams, stage.settings)
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
    """Return the words in two parts, the same for all variants of a seed. Raises DataError."""
    count = round(stage.held_out_share * len(words))
    if count < 2 or len(words) - count < 2:
        limit = f"measure.rare_words.occurrences {stage.occurrences}"
        raise DataError(f"{limit}: {len(words)} words of one token occur as often; too few to train and to measure")
    order = stream(stage.seed, "words left out").permutation(len(words))
    return _Split(*(tuple(words[row] for row in np.sort(rows)) for rows in (order[count:], order[:count])))


def _embeddable(words: tuple[Word, ...], ngrams: NgramTable) -> tuple[Word, ...]:
    """Return the words with an n-gram in the table; for `context` too, so that variants have the same words."""
    found = tuple(word for word in words if ngrams.known(word.text))
    if len(found) < 2:
        raise DataError(f"{len(found)} of {len(words)} words left out have a known n-gram; lower ngram_words")
    return found


def _centred_cosine(found: Float[Tensor, "words width"], targets: Float[Tensor, "words width"]) -> float:
    mean = targets.mean(0)
    return float(torch.cosine_similarity(found - mean, targets - mean).mean())
