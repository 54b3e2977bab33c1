"""Whole sentences of one document, more rows in a batch. Liu et al. 2019 (RoBERTa), arXiv 1907.11692, section 4.2."""

from typing import Literal

from search_space.packing.option import PackingOption


class DocSentences(PackingOption):
    """[CLS], consecutive sentences of one document, [SEP]; DOC-SENTENCES of RoBERTa's Table 2.

    Sequences at the end of a document are short, so that a batch has as many sequences as reach its tokens.
    """

    kind: Literal["doc_sentences"] = "doc_sentences"
    """Chooses whole sentences of one document."""
