"""Whole words: all pieces of a word or none. BERT's release, create_pretraining_data, do_whole_word_mask."""

from typing import Literal

from search_space.selection.numbering import NONE, word_bounds
from search_space.selection.option import SelectionOption
from steeplechase.foundation.numpy_on_use import Numbers, Random, np


class WholeWord(SelectionOption):
    """Words are drawn until the budget is reached; a word that does not fit into the rest of it is passed over."""

    kind: Literal["whole_word"] = "whole_word"
    """Chooses whole words."""

    def select(self, words: Numbers, budget: int, random: Random) -> Numbers:
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
