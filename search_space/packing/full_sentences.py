"""Whole sentences up to the length, across documents. Liu et al. 2019 (RoBERTa), arXiv 1907.11692, section 4.2."""

from typing import Literal

from search_space.packing.option import PackingOption
from search_space.packing.sequences import PairRelations, Text
from search_space.packing.whole_sentences import SPECIAL_TOKENS, WholeSentences, packed, sentence_bounds
from steeplechase.foundation.numpy_on_use import np


class FullSentences(PackingOption):
    """[CLS], consecutive sentences, [SEP], with a [SEP] between documents; FULL-SENTENCES of RoBERTa's Table 2.

    A sentence that does not fit begins the next sequence; one that is longer than a sequence is split.
    """

    kind: Literal["full_sentences"] = "full_sentences"
    """Chooses whole sentences, across documents."""

    def sequences_of(self, text: Text, pairs: PairRelations | None) -> WholeSentences:
        """Return sequences that may cross documents; the [SEP] that ends a document inside of one is part of it."""
        bounds, _ = sentence_bounds(text)
        anywhere = np.full(len(bounds), len(text.tokens))
        return WholeSentences(text, packed(bounds, anywhere, text.sequence_length - SPECIAL_TOKENS))
