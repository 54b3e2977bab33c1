"""Which tokens of a batch are masked: one file per option of `search_space.selection`.

Each file defines `select(words, option, budget, random)`. `words` [batch seq] numbers the words of each sequence,
NONE at special tokens and padding; the result has the same shape and numbers the selected spans, NONE elsewhere.
"""

from importlib import import_module

import numpy as np

from search_space.selection import Selection
from steeplechase.tasks.selection.numbering import NONE, Numbers
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokenizer.word_boundaries import boundaries_of

__all__ = ["NONE", "Numbers", "select", "words_of"]


def words_of(tokens: Numbers, tokenizer: Tokenizer) -> Numbers:
    """Return the number of the word of every token [batch seq], NONE at special tokens and padding.

    A piece that continues no word of the sequence, because the sequence begins inside a word, begins one.
    """
    ordinary = ~np.isin(tokens, (tokenizer.pad, tokenizer.classify, tokenizer.separate))
    continues = ~boundaries_of(tokenizer).starts(tokens)
    continues[:, 1:] &= ordinary[:, :-1]
    numbers: Numbers = np.cumsum(ordinary & ~continues, axis=1) - 1
    return np.where(ordinary, numbers, NONE)


def select(words: Numbers, selection: Selection, budget: int, random: np.random.Generator) -> Numbers:
    """Return the number of the selected span of every token [batch seq], NONE where it is not selected."""
    spans: Numbers = import_module(f"steeplechase.tasks.selection.{selection.kind}").select(
        words, selection, budget, random
    )
    return spans
