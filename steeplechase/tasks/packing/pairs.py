"""The declaration of pairs of segments that an objective reads."""

from search_space.objective import Objective
from search_space.objective.auxiliary_loss import WithAuxiliaryLosses
from search_space.objective.segment_pair import SegmentPair


def pairs_of(objective: Objective) -> SegmentPair:
    """Return the objective's declaration of pairs; it is the objective itself, or one of those it combines."""
    losses = objective.auxiliary_losses if isinstance(objective, WithAuxiliaryLosses) else ()
    return next(each for each in losses if isinstance(each, SegmentPair))
