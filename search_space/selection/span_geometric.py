"""Contiguous spans of geometric length. Joshi et al. 2019 (SpanBERT), arXiv 1907.10529, section 3.1."""

import math
from typing import Literal

from pydantic import Field

from search_space.selection.numbering import NONE, marked_spans
from search_space.selection.option import SelectionOption
from steeplechase.foundation.numpy_on_use import Numbers, Random
from steeplechase.foundation.schema import Count


class SpanGeometric(SelectionOption):
    """Spans of whole words that begin at a word; the last one is truncated to the budget, at a token."""

    kind: Literal["span_geometric"] = "span_geometric"
    """Chooses spans of geometric length."""
    success_probability: float = Field(default=0.2, gt=0, lt=1)
    """p of the geometric distribution of a span's length in words; a span of n words has p (1 - p)^(n - 1)."""
    longest: Count = 10
    """Maximum length of a span in words; the distribution is truncated there and renormalised (mean 3.8)."""

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of every length in words, from 1."""
        weights = [(1 - self.success_probability) ** words for words in range(self.longest)]
        return tuple(weight / sum(weights) for weight in weights)

    def budget(self, rate: float, length: int) -> int:
        """Return the number of tokens selected in a sequence of `length`: 20 of 128 at 15%, as SpanBERT's release."""
        return math.ceil(rate * length)

    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
        """Return the drawn spans: each begins at a free word and ends before a selected or special token.

        The last span ends at the budget, perhaps inside a word.
        """
        return marked_spans(words, self.probabilities, budget, random, _mark)


def _mark(row: Numbers, bounds: Numbers, left: int) -> int:
    """Mark the span from its first word up to the first token that is not free; return the number of its tokens."""
    marked, start = 0, int(bounds[0, 0])
    for first, end in bounds:
        room = left - marked
        if room == 0 or first != start + marked or row[first] != NONE:
            break
        stop = min(int(end), int(first) + room)
        row[first:stop] = start
        marked += stop - int(first)
        if stop < end:
            break
    return marked
