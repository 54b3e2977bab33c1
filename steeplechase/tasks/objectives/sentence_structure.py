"""Sentence structural objective: next, previous or random? Wang et al. 2019 (StructBERT), arXiv 1908.04577, 2.2."""

from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryLossModel
from steeplechase.tasks.objectives.segment_pair import SegmentPairLoss


class Model(AuxiliaryLossModel):
    """An encoder with a vocabulary head, a pooler and an output layer for the relation of two segments."""

    auxiliary_loss = SegmentPairLoss
