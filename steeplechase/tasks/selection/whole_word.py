"""Whole words, drawn without replacement until the budget is reached. BERT's release, create_pretraining_data."""

import numpy as np

from search_space.selection.whole_word import WholeWord
from steeplechase.tasks.selection.numbering import NONE, Numbers, word_bounds


def select(words: Numbers, option: WholeWord, budget: int, random: np.random.Generator) -> Numbers:
    """Return every drawn word as a span; a word longer than the rest of the budget is passed over."""
    spans = np.full_like(words, NONE)
    for row, numbered in zip(spans, words, strict=True):
        left = budget
        for start, end in random.permutation(word_bounds(numbered)):
            if end - start <= left:
                row[start:end] = start
                left -= end - start
            if left == 0:
                break
    return spans
