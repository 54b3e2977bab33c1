"""Whole sentences up to the length, across documents. Liu et al. 2019 (RoBERTa), arXiv 1907.11692, section 4.2."""

import numpy as np

from search_space.objective import Objective
from steeplechase.tasks.packing.text import Text
from steeplechase.tasks.packing.whole_sentences import SPECIAL_TOKENS, WholeSentences, packed, sentence_bounds


def sequences_of(text: Text, objective: Objective) -> WholeSentences:
    """Return sequences that may cross documents; the [SEP] that ends a document inside of one is part of it."""
    bounds, _ = sentence_bounds(text)
    anywhere = np.full(len(bounds), len(text.tokens))
    return WholeSentences(text, packed(bounds, anywhere, text.sequence_length - SPECIAL_TOKENS))
