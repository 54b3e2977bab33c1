"""Scores of a trigram model of the pretraining text on a downstream task: what short word order alone gives."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steeplechase.tasks.bag_of_words import label_predictions
from steeplechase.tasks.labelled.scoring import score, score_pairs
from steeplechase.tasks.labelled.task import DownstreamTask, Examples
from steeplechase.tasks.ngram import Numbers, Trigrams
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokens import read_tokens

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
