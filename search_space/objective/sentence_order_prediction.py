"""Sentence order prediction: are two segments in order? Lan et al. 2019 (ALBERT), arXiv 1909.11942, section 3.1."""

from typing import ClassVar, Literal

from search_space.objective.segment_pair import SegmentPair


class SentenceOrderPrediction(SegmentPair):
    """Whether B continues A or A continues B; half of the pairs each."""

    relations: ClassVar[tuple[str, ...]] = ("next", "previous")
    fewest_sentences: ClassVar[int] = 2

    kind: Literal["sentence_order_prediction"] = "sentence_order_prediction"
    """Chooses sentence order prediction beside masked language modelling."""
