"""Sentence order prediction: are two segments in order? Lan et al. 2019 (ALBERT), arXiv 1909.11942, section 3.1."""

from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryLossModel
from steeplechase.tasks.objectives.segment_pair import SegmentPairLoss


class Model(AuxiliaryLossModel):
    """An encoder with a vocabulary head, a pooler and an output layer for the relation of two segments."""

    auxiliary_loss = SegmentPairLoss
