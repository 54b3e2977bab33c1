"""Sentence permutation: the sentences in a random order. BART, arXiv 1910.13461, section 2.2."""

from typing import Literal

from search_space.corruption.option import WholeTarget


class SentencePermutation(WholeTarget):
    """Sentences end with the tokens `.`, `!` and `?`, as at fairseq's full stop; one sentence stays as it is."""

    kind: Literal["sentence_permutation"] = "sentence_permutation"
    """Chooses sentence permutation."""
