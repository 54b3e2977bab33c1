"""Occurrences of many words in a stream of tokens, counted at once."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokenizer.word_boundaries import boundaries_of

Tokens = NDArray[np.integer]


def word_counts(words: Sequence[str], stream: Tokens, tokenizer: Tokenizer) -> Mapping[str, int]:
    """Return how often each word occurs as a whole word; with a cased vocabulary, in the given case."""
    pieces = [tuple(each) for each in tokenizer.encode(list(words))]
    tokens = np.asarray(stream).astype(np.int64)
    starts = np.flatnonzero(boundaries_of(tokenizer).starts(tokens))
    lengths = np.diff(starts, append=len(tokens))
    found: dict[tuple[int, ...], int] = {}
    for length in sorted({len(each) for each in pieces} - {0}):
        rows = tokens[starts[lengths == length][:, None] + np.arange(length)]
        wanted = np.array([each for each in pieces if len(each) == length])
        rows = rows[np.isin(rows[:, 0], wanted[:, 0])]
        unique, counts = np.unique(rows, axis=0, return_counts=True)
        found |= {tuple(row): count for row, count in zip(unique.tolist(), counts.tolist(), strict=True)}
    return {word: found.get(each, 0) for word, each in zip(words, pieces, strict=True)}
