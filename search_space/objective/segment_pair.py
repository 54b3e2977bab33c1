"""Shared by the objectives that classify the relation of two segments beside masked language modelling."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.objective.auxiliary_loss import AuxiliaryLoss
from search_space.packing import Packing, PackingOption, SegmentPairs
from search_space.shape import linear_parameters
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Share


class SegmentPair(AuxiliaryLoss):
    """Masked language modelling on [CLS] A [SEP] B [SEP], and a class of the pair from the vector of [CLS].

    The held-out loss is that of masked tokens in sequences of one segment, so that it is comparable with arms that
    read no pairs.
    """

    relations: ClassVar[tuple[str, ...]]
    """The classes in the order of their labels, each with the same probability: `next`, B continues A; `previous`, A
    continues B; `random`, B is of another document."""
    fewest_sentences: ClassVar[int] = 2
    """Sentences that a document needs for a pair; shorter ones are passed over."""

    packing: Packing = Field(default_factory=SegmentPairs)
    """How pairs are made of the text: `segment_pair`, or `sentence_pair` of two sentences."""
    pair_weight: float = Field(default=1.0, ge=0)
    """Weight of the loss on the relation of both segments in the sum of both losses; 0 for the same pairs without
    that loss."""
    short_sequence_share: Share = 0.1
    """Share of the pairs that are shorter than the sequence, by a random length. Default: BERT's release."""

    def reads(self, packing: PackingOption) -> bool:
        """Pairs alone, whose relation is classified."""
        return packing.pairs

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        yield from super().violations()
        share, usual = self.short_sequence_share, type(self).model_fields["short_sequence_share"].default
        if self.packing.kind == "sentence_pair" and share != usual:
            message = f"{share} has no effect, {self.packing.kind} has no length to shorten; leave it at {usual}"
            yield Violation(("short_sequence_share",), message)

    @property
    def weight(self) -> float:
        """The weight of the loss on the relation."""
        return self.pair_weight

    def own_parts(self, architecture: Architecture) -> tuple[Component, ...]:
        """Return the head of the pair."""
        return (segment_pair_head(architecture, len(self.relations)),)


def segment_pair_head(architecture: Architecture, classes: int) -> Component:
    """Return the pooler, a linear map with tanh of the first token, and the output layer; once for a sequence."""
    width = architecture.width
    parameters = linear_parameters(width, width) + linear_parameters(width, classes)
    once = linear(width, width) + linear(width, classes) + Operations(sigmoids=width, softmaxed=classes)
    return Component(Role.SEGMENT_PAIR, architecture.attention_shape, parameters, once, applied_to="sequence")


class NextSentencePrediction(SegmentPair):
    """Whether B continues A, or is a random segment of another document; half of the pairs each.

    Devlin et al. 2018 (BERT), arXiv 1810.04805, section 3.1.
    """

    relations: ClassVar[tuple[str, ...]] = ("next", "random")
    fewest_sentences: ClassVar[int] = 1

    kind: Literal["next_sentence_prediction"] = "next_sentence_prediction"
    """Chooses next sentence prediction beside masked language modelling."""


class SentenceOrderPrediction(SegmentPair):
    """Whether B continues A or A continues B; half of the pairs each.

    Lan et al. 2019 (ALBERT), arXiv 1909.11942, section 3.1.
    """

    relations: ClassVar[tuple[str, ...]] = ("next", "previous")
    fewest_sentences: ClassVar[int] = 2

    kind: Literal["sentence_order_prediction"] = "sentence_order_prediction"
    """Chooses sentence order prediction beside masked language modelling."""


class SentenceStructure(SegmentPair):
    """Whether B continues A, A continues B, or B is of another document; a third of the pairs each.

    Wang et al. 2019 (StructBERT), arXiv 1908.04577, section 2.2.
    """

    relations: ClassVar[tuple[str, ...]] = ("next", "previous", "random")
    fewest_sentences: ClassVar[int] = 2

    kind: Literal["sentence_structure"] = "sentence_structure"
    """Chooses the sentence structural objective beside masked language modelling."""
