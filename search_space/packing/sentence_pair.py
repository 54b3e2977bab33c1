"""Pairs of single sentences, more of them in a batch. Liu et al. 2019 (RoBERTa), arXiv 1907.11692, section 4.2."""

from typing import ClassVar, Literal

from search_space.packing.option import PackingOption


class SentencePairs(PackingOption):
    """[CLS] A [SEP] B [SEP] of two sentences; SENTENCE-PAIR of RoBERTa's Table 2.

    Such pairs are much shorter than a sequence, so that a batch has more of them: as many tokens as full sequences.
    """

    pairs: ClassVar[bool] = True

    kind: Literal["sentence_pair"] = "sentence_pair"
    """Chooses pairs of single sentences."""
