"""Spans of geometric length. Joshi et al. 2019 (SpanBERT), arXiv 1907.10529, section 3.1, and its release."""

import numpy as np

from search_space.selection.span_geometric import SpanGeometric
from steeplechase.tasks.selection.numbering import NONE, Numbers, marked_spans


def select(words: Numbers, option: SpanGeometric, budget: int, random: np.random.Generator) -> Numbers:
    """Return the drawn spans: each begins at a free word and ends before a selected or special token.

    The last span ends at the budget, perhaps inside a word.
    """
    return marked_spans(words, option.probabilities, budget, random, _mark)


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
