"""Shared by the objectives that classify the relation of two segments beside masked language modelling."""

from typing import ClassVar

from foundation.schema import PositiveNumber, Share
from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.objective.auxiliary_loss import WithAuxiliaryLoss
from search_space.objective.masked_language_model import vocabulary_head
from search_space.objective.pretraining_objective import Packing
from search_space.shape import linear_parameters


class SegmentPair(WithAuxiliaryLoss):
    """Masked language modelling on [CLS] A [SEP] B [SEP], and a class of the pair from the vector of [CLS].

    The held-out loss is that of masked tokens in sequences of one segment, so that it is comparable with arms that
    read no pairs.
    """

    relations: ClassVar[tuple[str, ...]]
    """The classes in the order of their labels, each with the same probability: `next`, B continues A; `previous`, A
    continues B; `random`, B is of another document."""
    fewest_sentences: ClassVar[int] = 2
    """Sentences that a document needs for a pair; shorter ones are passed over."""

    pair_weight: PositiveNumber = 1.0
    """Weight of the loss on the relation of both segments in the sum of both losses."""
    short_sequence_share: Share = 0.1
    """Share of the pairs that are shorter than the sequence, by a random length. Default: BERT's release."""

    @property
    def packing(self) -> Packing:
        """Pairs of segments."""
        return "segment_pair"

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the vocabulary head and the head of the pair."""
        return vocabulary_head(architecture), segment_pair_head(architecture, len(self.relations))


def segment_pair_head(architecture: Architecture, classes: int) -> Component:
    """Return the pooler, a linear map with tanh of the first token, and the output layer; once for a sequence."""
    width = architecture.width
    parameters = linear_parameters(width, width) + linear_parameters(width, classes)
    once = linear(width, width) + linear(width, classes) + Operations(sigmoids=width, softmaxed=classes)
    return Component(Role.SEGMENT_PAIR, architecture.attention_shape, parameters, once, applied_to="sequence")
