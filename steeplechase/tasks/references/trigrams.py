"""A trigram model with modified Kneser-Ney smoothing, interpolated. Chen and Goodman 1999, section 3.4.

10.1006/csla.1999.0128. Trained on the pretraining tokens in the pretraining vocabulary, so that it is a reference for
what word order within three tokens gives without a neural network.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steeplechase.tasks.labelled.scoring import score, score_pairs
from steeplechase.tasks.labelled.task import DownstreamTask, Examples
from steeplechase.tasks.references.bag_of_words import label_predictions
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokens import read_tokens

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]

SMALLEST_DISCOUNT = 0.1  # so that no token is impossible, however the counts of counts fall


@dataclass(frozen=True)
class _Counts:
    """Distinct n-grams as sorted integers, each with its count."""

    codes: Codes
    counts: Codes

    @classmethod
    def of(cls, codes: Codes) -> "_Counts":
        return cls(*np.unique(codes, return_counts=True))

    def at(self, codes: Codes) -> Codes:
        """Return the count of each code, 0 where there is none."""
        if len(self.codes) == 0:
            return np.zeros(len(codes), dtype=np.int64)
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.counts[places], 0)

    @property
    def discounts(self) -> Numbers:
        """Return what is taken off a count of 0, 1, 2, and 3 or more: equation 26, within bounds."""
        n1, n2, n3, n4 = (int((self.counts == count).sum()) for count in (1, 2, 3, 4))
        if not n1 or not n2:
            return np.array([0.0, 0.5, 0.5, 0.5])  # too few counts to estimate discounts from
        base = n1 / (n1 + 2 * n2)
        three = 3 - 4 * base * n4 / n3 if n3 else 2.0
        return np.clip(
            [0.0, 1 - 2 * base * n2 / n1, 2 - 3 * base * n3 / n2, three], [0, *[SMALLEST_DISCOUNT] * 3], [0, 1, 2, 3]
        )


class _Level:
    """One order of the model: how its n-grams and its contexts were counted."""

    def __init__(self, ngrams: _Counts, vocabulary_size: int) -> None:
        self._ngrams, self._discounts = ngrams, ngrams.discounts
        contexts = ngrams.codes // vocabulary_size
        self._contexts, first = np.unique(contexts, return_index=True)
        taken = self._discounts[np.minimum(ngrams.counts, 3)]
        self._totals = np.add.reduceat(ngrams.counts, first) if len(first) else np.zeros(0)
        self._backed_off = np.add.reduceat(taken, first) if len(first) else np.zeros(0)
        self._vocabulary_size = vocabulary_size

    def probability(self, codes: Codes, lower: Numbers) -> Numbers:
        """Return the discounted share of each n-gram in its context, and `lower` weighted by what was taken off."""
        if len(self._contexts) == 0:
            return lower
        contexts = codes // self._vocabulary_size
        places = np.minimum(np.searchsorted(self._contexts, contexts), len(self._contexts) - 1)
        counts = self._ngrams.at(codes)
        kept = counts - self._discounts[np.minimum(counts, 3)]
        found: Numbers = (kept + self._backed_off[places] * lower) / self._totals[places]
        return np.where(self._contexts[places] == contexts, found, lower)


class Trigrams:
    """A trigram model of a stream of tokens."""

    def __init__(self, tokens: NDArray[np.integer], vocabulary_size: int) -> None:
        stream, self._size = np.asarray(tokens, dtype=np.int64), vocabulary_size
        trigrams = _Counts.of(self._codes(stream[:-2], stream[1:-1], stream[2:]))
        pairs = _Counts.of(trigrams.codes % self._size**2)  # of each pair, how many tokens were seen before it
        singles = _Counts.of(pairs.codes % self._size)
        self._levels = [_Level(each, vocabulary_size) for each in (singles, pairs, trigrams)]

    def _codes(self, *columns: Codes) -> Codes:
        codes = np.zeros(len(columns[0]), dtype=np.int64)
        for column in columns:
            codes = codes * self._size + column
        return codes

    def probabilities(self, first: Codes, second: Codes, third: Codes) -> Numbers:
        """Return the probability of each third token behind the first two."""
        found = np.full(len(third), 1 / self._size)
        for level, columns in zip(self._levels, ((third,), (second, third), (first, second, third)), strict=True):
            found = level.probability(self._codes(*columns), found)
        return found

    def log_probabilities(self, sentence: list[int], before: int) -> Numbers:
        """Return the log-probability in nats of every token of a sentence; its context is `before`, twice."""
        padded = np.asarray([before, before, *sentence], dtype=np.int64)
        found: Numbers = np.log(self.probabilities(padded[:-2], padded[1:-1], padded[2:]))
        return found


MOST_TOKENS = 20_000_000  # of the train split, from its beginning; more would take minutes and gigabytes


def ngram_scores(task: DownstreamTask, examples: Examples, tokens: Path, tokenizer: Tokenizer) -> dict[str, float]:
    """Return the dev scores, times 100, of a trigram model of the pretraining tokens in the file `tokens`.

    A minimal pair is decided by the probabilities of its sentences. Of a task with labels, a logistic regression
    learns from the train part's mean and least log-probability of a token and from the number of tokens.
    """
    model = Trigrams(read_tokens(tokens)[:MOST_TOKENS], tokenizer.vocabulary_size)
    if task.method == "minimal_pairs":
        sides = ([pair.first for pair in examples.dev], [str(pair.second) for pair in examples.dev])
        good, bad = ([float(each.sum()) for each in _log_probabilities(model, side, tokenizer)] for side in sides)
        return score_pairs(task, list(zip(good, bad, strict=True)))
    train, dev = (
        [_features(each) for each in _log_probabilities(model, [example.first for example in part], tokenizer)]
        for part in (examples.train, examples.dev)
    )
    predictions = label_predictions(train, [int(example.label or 0) for example in examples.train], dev)
    return score(task, predictions, [int(example.label or 0) for example in examples.dev])


def _log_probabilities(model: Trigrams, texts: Sequence[str], tokenizer: Tokenizer) -> list[Numbers]:
    return [model.log_probabilities(sentence, tokenizer.separate) for sentence in tokenizer.encode(texts)]


def _features(log_probabilities: Numbers) -> list[float]:
    found = log_probabilities if len(log_probabilities) else np.zeros(1)
    return [float(found.mean()), float(found.min()), float(len(log_probabilities))]
