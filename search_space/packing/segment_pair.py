"""Pairs of segments of whole sentences. Devlin et al. 2018 (BERT), arXiv 1810.04805, appendix A.2."""

from typing import ClassVar, Literal

from search_space.packing.option import PackingOption


class SegmentPairs(PackingOption):
    """[CLS] A [SEP] B [SEP], both together at most as long as the sequence; SEGMENT-PAIR of RoBERTa's Table 2."""

    pairs: ClassVar[bool] = True

    kind: Literal["segment_pair"] = "segment_pair"
    """Chooses pairs of segments."""
