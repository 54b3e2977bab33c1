"""Sentence order prediction: are two segments in order? Lan et al. 2019 (ALBERT), arXiv 1909.11942, section 3.1."""

from tasks.objectives.segment_pair import SegmentPairModel


class Model(SegmentPairModel):
    """An encoder with a vocabulary head, a pooler and an output layer for the relation of two segments."""
