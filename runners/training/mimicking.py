"""Trains embeddings of words to mimic those that an encoder has for frequent words, in three stages.

BERTRAM: Schick and Schütze 2020, arXiv 1910.07181: first the context alone, then the form alone, then only what
combines both. The encoder is never changed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from search_space.rare_words import RareWords
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.randomness import stream, stream_seed
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from steeplechase.models.rare_words import COMBINATION, CONTEXT, FORM, RareWordModel, WordBatch
from steeplechase.tasks.rare_words.contexts import NgramTable, contexts_at, occurrences
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokenizer.word_boundaries import boundaries_of

COLON = ":"
Tokens = NDArray[np.integer]


@dataclass(frozen=True)
class Word:
    """A word with its pieces and its occurrences in a stream of tokens."""

    text: str
    pieces: tuple[int, ...]
    starts: NDArray[np.int64]


@dataclass(frozen=True)
class WordSource:
    """What batches of words are made of."""

    stream: Tokens
    tokenizer: Tokenizer
    ngrams: NgramTable
    settings: RareWords

    def batch(self, words: Sequence[Word], device: torch.device, random: np.random.Generator | None) -> WordBatch:
        """Return the words with contexts: a random number of random ones for training, else the first most."""
        most, length = self.settings.most_contexts, self.settings.context_length
        rows = [
            contexts_at(self.stream, self._chosen(word, random), len(word.pieces), length, self.tokenizer)
            for word in words
        ]
        count = min(most, max(len(each) for each in rows))
        tokens = np.full((len(words), count, length), self.tokenizer.pad, np.int64)
        real = np.zeros((len(words), count, length), bool)
        places = np.zeros((len(words), count), np.int64)
        for word, each in enumerate(rows):
            tokens[word, : len(each)], real[word, : len(each)] = each.tokens, each.real
            places[word, : len(each)] = each.places
        ngrams = self.ngrams.encode([word.text for word in words])
        tensors = (torch.from_numpy(each).to(device) for each in (ngrams, tokens, places, real))
        return WordBatch(*tensors)

    def _chosen(self, word: Word, random: np.random.Generator | None) -> NDArray[np.int64]:
        if random is None:
            return word.starts[: self.settings.most_contexts]
        count = int(random.integers(self.settings.fewest_contexts, self.settings.most_contexts + 1))
        return random.permutation(word.starts)[:count]


def found_words(texts: Sequence[str], source: Tokens, tokenizer: Tokenizer) -> tuple[Word, ...]:
    """Return the words with their pieces and every occurrence; a word without one has none."""
    pieces = tokenizer.encode(list(texts))
    return tuple(
        Word(text, tuple(each), occurrences(source, each, tokenizer))
        for text, each in zip(texts, pieces, strict=True)
    )


def frequent_words(source: Tokens, tokenizer: Tokenizer, at_least: int) -> tuple[Word, ...]:
    """Return the words of one token, of letters only, that occur often enough: the targets of training."""
    counts = np.bincount(np.asarray(source).astype(np.int64), minlength=tokenizer.vocabulary_size)
    boundaries = boundaries_of(tokenizer)
    whole = np.flatnonzero((counts >= at_least) & (boundaries.starts_word | boundaries.ends_word)).tolist()
    texts = {token: text for token in whole if (text := tokenizer.decode([token]).strip()).isalpha()}
    words = found_words([*texts.values()], source, tokenizer)
    return tuple(
        word
        for token, word in zip(texts, words, strict=True)
        if word.pieces == (token,) and len(word.starts) >= at_least
    )


def mimicking_model(encoder: Encoder, source: WordSource, seed: int) -> RareWordModel:
    """Return an untrained model.

    Raises DataError where the vocabulary has no colon, which `add` reads, or contexts are longer than the positions.
    """
    settings, tokenizer = source.settings, source.tokenizer
    longest = settings.context_length + (2 if settings.variant == "add" else 0)
    if settings.variant != FORM and (too_long := encoder.architecture.too_long(longest)):
        raise DataError(f"rare words, context_length {settings.context_length}: {too_long}")
    encoded = [token for token in tokenizer.encode([COLON])[0] if token != tokenizer.unknown]
    colon = encoded[-1] if encoded else None
    if colon is None and settings.variant == "add":
        raise DataError("rare words, variant add: the vocabulary has no colon to write behind the form")
    model = RareWordModel(encoder, settings.variant, len(source.ngrams), 0 if colon is None else colon)
    initialise(model, stream_seed(seed, "rare words"))
    return model.to(encoder.device)


def train_to_mimic(model: RareWordModel, words: Sequence[Word], source: WordSource, seed: int) -> dict[str, float]:
    """Train the model on frequent words; return the mean squared error of the last epoch of each stage.

    Raises DataError for a word of several tokens, and where a word has too few occurrences.
    """
    _refuse_unfit(words, source.settings)
    rows = torch.tensor([word.pieces[0] for word in words], device=model.encoder.device)
    targets = model.encoder.embeddings.tokens.weight.detach()[rows]
    return {part: _train_part(model, part, (words, targets), source, seed) for part in _parts(source.settings)}


def embeddings_of(
    model: RareWordModel, words: Sequence[Word], source: WordSource
) -> Float[Tensor, "words embedding"]:
    """Return the embedding of every word. Raises DataError for a word without an occurrence or a known n-gram."""
    if source.settings.variant != FORM and (absent := [word.text for word in words if not len(word.starts)]):
        raise DataError(f"no context: {_listed(absent)} occurs nowhere in the text; variant form needs no contexts")
    if source.settings.variant != CONTEXT and (absent := [w.text for w in words if not source.ngrams.known(w.text)]):
        raise DataError(f"no n-gram: {_listed(absent)} has none in the table; variant context needs none")
    with torch.inference_mode():
        size = source.settings.batch_words
        parts = [words[first : first + size] for first in range(0, len(words), size)]
        return torch.cat([model(source.batch(part, model.encoder.device, None)) for part in parts])


def explained_variance(found: Float[Tensor, "words embedding"], targets: Float[Tensor, "words embedding"]) -> float:
    """Return R²: 1 minus the squared error relative to that of the mean embedding of these words."""
    error = (found - targets).square().sum()
    return float(1 - error / (targets - targets.mean(0)).square().sum())


def _parts(settings: RareWords) -> tuple[str, ...]:
    if settings.variant in (FORM, CONTEXT):
        return (settings.variant,)
    return CONTEXT, FORM, COMBINATION


def _train_part(
    model: RareWordModel,
    part: str,
    words: tuple[Sequence[Word], Float[Tensor, "words embedding"]],
    source: WordSource,
    seed: int,
) -> float:
    settings, (all_words, targets) = source.settings, words
    rate = settings.form_learning_rate if part == FORM else settings.context_learning_rate
    optimiser = torch.optim.Adam([*model.parameters_of(part)], lr=rate)
    epochs = {FORM: settings.form_epochs, CONTEXT: settings.context_epochs, COMBINATION: settings.combination_epochs}
    mean = math.nan
    for epoch in range(epochs[part]):
        random = stream(seed, f"mimicking {part}", epoch)
        total = 0.0
        for rows in _batches(len(all_words), settings.batch_words, random):
            batch = source.batch([all_words[row] for row in rows], model.encoder.device, random)
            errors = (model(batch, part) - targets[torch.from_numpy(rows).to(targets.device)]).square().sum(-1)
            optimiser.zero_grad()
            errors.mean().backward()
            optimiser.step()
            total += float(errors.detach().sum())
        mean = total / len(all_words)
    return mean


def _batches(count: int, size: int, random: np.random.Generator) -> Iterator[Int[np.ndarray, " rows"]]:
    order = random.permutation(count)
    yield from (order[first : first + size] for first in range(0, count, size))


def _refuse_unfit(words: Sequence[Word], settings: RareWords) -> None:
    several = [word.text for word in words if len(word.pieces) != 1]
    rare = [word.text for word in words if len(word.starts) < settings.fewest_contexts]
    reasons = []
    if several:
        reasons.append(f"{_listed(several)} has several tokens, and so no embedding to mimic")
    if rare and settings.variant != FORM:
        reasons.append(f"{_listed(rare)} occurs fewer than {settings.fewest_contexts} times")
    if not words:
        reasons.append("no frequent word to mimic")
    if reasons:
        raise DataError(reasons)


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - 3} more" if len(words) > 3 else ""
    return f"{', '.join(words[:3])}{more}"
