"""N-grams, each inside a window of context. XLNet, Yang et al. 2019, arXiv 1906.08237, section 2.3 and data_utils.py.

Differences from the release: a window of K times its n-gram contains it, as in the paper, so that windows select one
token of K (in the release the context stands beside it); a direction of reading changes nothing.
"""

import numpy as np

from search_space.selection.windowed_ngram import WindowedNGram
from steeplechase.tasks.selection.numbering import NONE, Numbers


def select(words: Numbers, option: WindowedNGram, budget: int, random: np.random.Generator) -> Numbers:
    """Return every n-gram as a span; what windows leave of the budget is filled with single tokens."""
    spans = np.full_like(words, NONE)
    for row, numbered in zip(spans, words, strict=True):
        inside = np.flatnonzero(numbered != NONE)
        left = min(budget, len(inside))
        if left:
            left -= _mark_windows(row, numbered, inside, left, option, random)
            free = inside[row[inside] == NONE]
            chosen = random.choice(free, left, replace=False)
            row[chosen] = chosen
    return spans


def _mark_windows(
    row: Numbers, words: Numbers, inside: Numbers, budget: int, option: WindowedNGram, random: np.random.Generator
) -> int:
    """Mark an n-gram in every window, and return the number of marked tokens; `inside` are the ordinary tokens."""
    ratio, left, window = len(inside) / budget, budget, 0
    starts = np.flatnonzero(np.diff(words[inside], prepend=NONE))  # places inside, where words begin
    while left and window < len(inside):
        tokens = min(int(random.choice(option.longest, p=option.probabilities)) + 1, left)
        room = max(0, round(tokens * ratio) - tokens)
        before = int(random.integers(room + 1))
        following = starts[np.searchsorted(starts, window + before) :]
        if not len(following):
            break
        begin = int(following[0])
        span = inside[begin : begin + tokens]
        span = span[span - span[0] == np.arange(len(span))]  # up to a special token
        row[span] = span[0]
        left -= len(span)
        window = begin + len(span) + room - before
    return budget - left
