"""Several losses beside masked language modelling on one batch, summed by weight: StructBERT's, arXiv 1908.04577."""

from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryLossModel


class Model(AuxiliaryLossModel):
    """An encoder with a vocabulary head, and the heads of all parts."""
