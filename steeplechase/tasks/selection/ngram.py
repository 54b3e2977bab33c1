"""N-grams of whole words. Lan et al. 2019 (ALBERT), arXiv 1909.11942, section 4.1, and its release."""

import numpy as np

from search_space.selection.ngram import NGram
from steeplechase.tasks.selection.numbering import NONE, Numbers, marked_spans


def select(words: Numbers, option: NGram, budget: int, random: np.random.Generator) -> Numbers:
    """Return every drawn n-gram as a span; n-grams do not overlap, and begin at words in random order."""
    return marked_spans(words, option.probabilities, budget, random, _mark)


def _mark(row: Numbers, bounds: Numbers, left: int) -> int:
    """Mark the longest free n-gram that begins with the first word and fits; return its tokens, 0 without one."""
    for words in range(len(bounds), 0, -1):
        start, end = int(bounds[0, 0]), int(bounds[words - 1, 1])
        if end - start <= left and (row[start:end] == NONE).all() and _contiguous(bounds[:words]):
            row[start:end] = start
            return end - start
    return 0


def _contiguous(bounds: Numbers) -> bool:
    """Return whether no special token lies between the words."""
    return bool((bounds[1:, 0] == bounds[:-1, 1]).all())
