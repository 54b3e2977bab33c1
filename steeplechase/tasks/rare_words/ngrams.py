"""Character n-grams of words between boundary marks. Schick and Schütze 2019, arXiv 1904.01617."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from search_space.rare_words import RareWords

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
