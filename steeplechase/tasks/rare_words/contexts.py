"""Occurrences of words in a stream of tokens with the tokens around each, and the character n-grams of words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from search_space.rare_words import RareWords
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokenizer.word_boundaries import boundaries_of

Tokens = NDArray[np.integer]


@dataclass(frozen=True)
class Contexts:
    """Contexts of words: sequences with [MASK] in the word's place [rows seq], padded."""

    tokens: NDArray[np.int64]
    places: NDArray[np.int64]
    """Position of [MASK] [rows]."""
    real: NDArray[np.bool_]
    """False at padding [rows seq]."""

    def __len__(self) -> int:
        """Return the number of occurrences."""
        return len(self.tokens)


def occurrences(stream: Tokens, pieces: Sequence[int], tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return the positions at which the pieces are a whole word: it begins there, and what follows begins another."""
    pieces_array = np.asarray(pieces)
    if len(pieces_array) == 0 or len(stream) < len(pieces_array):
        return np.empty(0, np.int64)
    starts = np.flatnonzero(stream[: len(stream) - len(pieces_array) + 1] == pieces_array[0])
    for offset, piece in enumerate(pieces_array[1:], start=1):
        starts = starts[stream[starts + offset] == piece]
    boundaries = boundaries_of(tokenizer)
    whole = boundaries.starts_at(stream, starts) & boundaries.starts_at(stream, starts + len(pieces_array))
    return starts[whole].astype(np.int64)


def contexts_at(
    stream: Tokens, starts: NDArray[np.int64], pieces: int, length: int, tokenizer: Tokenizer
) -> Contexts:
    """Return the tokens around each occurrence of `pieces` tokens, to the ends of its document.

    [CLS] is first, [SEP] last, and [MASK] in the word's place; a context has at most `length` tokens, as many before
    the word as after it where the document has them.
    """
    tokens = np.full((len(starts), length), tokenizer.pad, np.int64)
    real = np.zeros((len(starts), length), bool)
    places = np.empty(len(starts), np.int64)
    for row, start in enumerate(starts):
        room = length - 3
        before = _until_separator(stream[max(0, start - room) : start][::-1], tokenizer.separate)[::-1]
        after = _until_separator(stream[start + pieces : start + pieces + room], tokenizer.separate)
        left = min(len(before), max(room // 2, room - len(after)))
        before, after = before[len(before) - left :], after[: room - left]
        line = [tokenizer.classify, *before, tokenizer.mask, *after, tokenizer.separate]
        tokens[row, : len(line)], real[row, : len(line)], places[row] = line, True, 1 + left
    return Contexts(tokens, places, real)


def _until_separator(tokens: Tokens, separate: int) -> Tokens:
    ends = np.flatnonzero(tokens == separate)
    return tokens[: ends[0]] if len(ends) else tokens


FIRST, LAST = "\u2039", "\u203a"
"""The boundary marks, characters that no word has."""
NONE = 0
"""The row of no n-gram."""


def ngrams_of(word: str, smallest: int, largest: int) -> list[str]:
    """Return the n-grams of a marked word, without the marks alone; a short word has itself."""
    marked = f"{FIRST}{word}{LAST}"
    found = [
        marked[start : start + length]
        for length in range(smallest, largest + 1)
        for start in range(len(marked) - length + 1)
    ]
    return found or [marked]


@dataclass(frozen=True)
class NgramTable:
    """The n-grams that have an embedding, by row from 1."""

    rows: dict[str, int]
    settings: RareWords

    @classmethod
    def of(cls, words: Iterable[str], settings: RareWords) -> "NgramTable":
        """Return the table of the n-grams that occur in enough of the words."""
        counts = Counter(ngram for word in words for ngram in set(cls._ngrams(word, settings)))
        frequent = sorted(ngram for ngram, count in counts.items() if count >= settings.ngram_words)
        return cls({ngram: row for row, ngram in enumerate(frequent, start=1)}, settings)

    @staticmethod
    def _ngrams(word: str, settings: RareWords) -> list[str]:
        return ngrams_of(word, settings.smallest_ngram, settings.largest_ngram)

    def __len__(self) -> int:
        """Return the number of n-grams."""
        return len(self.rows)

    def known(self, word: str) -> list[int]:
        """Return the rows of a word's n-grams that are in the table."""
        return [self.rows[ngram] for ngram in self._ngrams(word, self.settings) if ngram in self.rows]

    def encode(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows of every word's n-grams [words grams], NONE behind the last."""
        rows = [self.known(word) for word in words]
        encoded = np.full((len(words), max((len(each) for each in rows), default=0) or 1), NONE)
        for line, each in zip(encoded, rows, strict=True):
            line[: len(each)] = each
        return encoded.astype(np.int64)
