"""Whole sentences up to the length, across documents. Liu et al. 2019 (RoBERTa), arXiv 1907.11692, section 4.2."""

from typing import Literal

from search_space.packing.option import PackingOption


class FullSentences(PackingOption):
    """[CLS], consecutive sentences, [SEP], with a [SEP] between documents; FULL-SENTENCES of RoBERTa's Table 2.

    A sentence that does not fit begins the next sequence; one that is longer than a sequence is split.
    """

    kind: Literal["full_sentences"] = "full_sentences"
    """Chooses whole sentences, across documents."""
