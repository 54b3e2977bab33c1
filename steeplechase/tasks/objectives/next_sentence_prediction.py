"""Next sentence prediction: does B continue A? Devlin et al. 2018 (BERT), arXiv 1810.04805, section 3.1."""

from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryLossModel
from steeplechase.tasks.objectives.segment_pair import SegmentPairLoss


class Model(AuxiliaryLossModel):
    """An encoder with a vocabulary head, a pooler and an output layer for the relation of two segments."""

    auxiliary_loss = SegmentPairLoss
