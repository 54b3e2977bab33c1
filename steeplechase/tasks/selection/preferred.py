"""Selection that prefers some words: they are selected first, up to a share. SenseBERT, arXiv 1908.05646."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steeplechase.tasks.selection.numbering import NONE, Numbers, word_bounds

Select = Callable[[Numbers, int], Numbers]
"""Selects at most a number of tokens among numbered words, as `steeplechase.tasks.selection.select` does."""


@dataclass(frozen=True)
class PreferredWords:
    """Words that are selected first, up to two shares, and not selected otherwise."""

    positions: NDArray[np.bool_]
    """Whether each token is a preferred word by itself [batch seq]."""
    share_of_words: float
    """Largest share of the preferred words of a row that is selected."""
    share_of_budget: float
    """Largest share of a row's budget that is filled with them, rounded up to a word as the other share is."""

    def rows(self, rows: NDArray[np.bool_] | slice) -> "PreferredWords":
        """Return the preferred words of some rows."""
        return PreferredWords(self.positions[rows], self.share_of_words, self.share_of_budget)


def select_preferred(
    words: Numbers, preferred: PreferredWords, budget: int, random: np.random.Generator, select: Select
) -> Numbers:
    """Return the selected spans [batch seq]: preferred words, then what `select` draws among the other words."""
    spans = np.full_like(words, NONE)
    for row, numbered, wanted in zip(spans, words, preferred.positions, strict=True):
        starts = word_bounds(np.where(wanted, numbered, NONE))[:, 0]
        count = math.ceil(min(preferred.share_of_words * len(starts), preferred.share_of_budget * budget))
        chosen = random.choice(starts, count, replace=False) if count else starts[:0]
        row[chosen] = chosen
    left = budget - (spans != NONE).sum(axis=1)
    others = np.where(preferred.positions, NONE, words)
    for remaining in np.unique(left[left > 0]).tolist():
        rows = left == remaining
        spans[rows] = np.maximum(spans[rows], select(others[rows], remaining))  # NONE is below every number
    return spans
