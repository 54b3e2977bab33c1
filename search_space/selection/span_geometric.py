"""Contiguous spans of geometric length. Joshi et al. 2019 (SpanBERT), arXiv 1907.10529, section 3.1."""

import math
from typing import Literal

from pydantic import Field

from search_space.selection.option import SelectionOption
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
