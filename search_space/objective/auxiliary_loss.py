"""Masked language modelling with further losses: what objectives with auxiliary losses share, and most of them."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.norm import norm_parameters
from search_space.objective.masked_language_model import WithMaskedReference
from search_space.output_layer import vocabulary_head
from search_space.packing import Mentions, Packing, PackingOption
from search_space.selection import Selection, SingleToken, SpanGeometric, WholeWord
from search_space.shape import linear_parameters
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count, PositiveNumber, Share


class WithAuxiliaryLosses(WithMaskedReference):
    """Masked language modelling and auxiliary losses, summed by weight; held-out loss: that of masked tokens."""

    mask_token_share: Share = 0.8
    """Share of the predicted positions replaced by [MASK]; default as BERT."""
    random_token_share: Share = 0.1
    """Share of the predicted positions replaced by random tokens; default as BERT."""
    masked_token_weight: PositiveNumber = 1.0
    """Weight of the loss of masked language modelling in the sum of all losses."""

    @property
    @abstractmethod
    def auxiliary_losses(self) -> tuple["AuxiliaryLoss", ...]:
        """The objectives whose auxiliary losses are added, each with the masks of this one."""

    @property
    def terms(self) -> tuple[str, ...]:
        """Masked language modelling, then the auxiliary losses by kind."""
        return "masked_language_model", *(each.kind for each in self.auxiliary_losses)

    @property
    def evaluation(self) -> str:
        """That of masked language modelling, whose loss is part of this one."""
        return "masked_language_model"

    def predictions(self, length: int) -> int:
        """Return the number of masked tokens, and of further ones that the vocabulary head predicts."""
        masked = self.masked_tokens(length)
        others = length - 2 - masked
        return min(length - 2, masked + sum(each.further_predictions(others) for each in self.auxiliary_losses))

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the vocabulary head, and the heads of the auxiliary losses."""
        own = (part for each in self.auxiliary_losses for part in each.own_parts(architecture))
        return vocabulary_head(architecture), *own


class AuxiliaryLoss(WithAuxiliaryLosses):
    """An objective with one auxiliary loss, which `combined` can add to others."""

    package: ClassVar[str] = "search_space.objective"

    @property
    @abstractmethod
    def weight(self) -> float:
        """The weight of the auxiliary loss in the sum of all losses."""

    @property
    def auxiliary_losses(self) -> tuple["AuxiliaryLoss", ...]:
        """Its own."""
        return (self,)

    def further_predictions(self, others: int) -> int:
        """Return how many of the tokens that are not masked the vocabulary head predicts for this loss."""
        return 0

    def own_parts(self, architecture: Architecture) -> tuple[Component, ...]:
        """Return the components of this loss alone."""
        return ()


class WordStructure(AuxiliaryLoss):
    """Masked language modelling, and the original tokens of shuffled runs that are not masked, by the same head.

    Wang et al. 2019 (StructBERT), arXiv 1908.04577: put shuffled words back in order.
    """

    kind: Literal["word_structure"] = "word_structure"
    """Chooses the word structural objective beside masked language modelling."""
    shuffle_rate: float = Field(default=0.05, gt=0, lt=1)
    """Share of the tokens that are not masked that is shuffled. Default: StructBERT."""
    shuffled_together: int = Field(default=3, ge=2, le=10)
    """K: adjacent tokens that are permuted; all permutations are equally likely, the identity included."""
    word_structure_weight: PositiveNumber = 1.0
    """Weight of the loss at shuffled tokens in the sum of both losses."""

    @property
    def weight(self) -> float:
        """The weight of the loss at shuffled tokens."""
        return self.word_structure_weight

    def further_predictions(self, others: int) -> int:
        """Return the number of shuffled tokens."""
        return math.ceil(self.shuffle_rate * others)


class SpanBoundary(AuxiliaryLoss):
    """Each token of a masked span is predicted twice: from its own vector, and from the tokens beside the span.

    Joshi et al. 2019 (SpanBERT), arXiv 1907.10529, section 3.2.
    """

    kind: Literal["span_boundary"] = "span_boundary"
    """Chooses the span boundary objective beside masked language modelling."""
    selection: Selection = Field(default_factory=SpanGeometric)
    """Which tokens are predicted; single tokens have no span, and are refused."""
    replaced_together: Literal["token", "span"] = "span"
    """Whether each token or each selected span has its own choice of [MASK], random tokens or its own tokens."""
    boundary_weight: PositiveNumber = 1.0
    """Weight of the loss of the span boundary objective in the sum of both losses."""
    span_positions: Count = 20
    """Number of embedded positions inside a span; tokens further right are not predicted from the boundary."""
    position_width: Count = 200
    """Channels of the embedded position inside a span. Default: SpanBERT's release, as for `span_positions`."""

    @property
    def weight(self) -> float:
        """The weight of the loss of the span boundary objective."""
        return self.boundary_weight

    def own_parts(self, architecture: Architecture) -> tuple[Component, ...]:
        """Return the span boundary head, counted at every predicted token."""
        return (self.boundary_head(architecture),)

    def boundary_head(self, architecture: Architecture) -> Component:
        """Return two maps with GELU and layer norm, on two vectors and a position, and the tied table."""
        width, embedding, vocabulary = (
            architecture.width,
            architecture.embedding_width,
            architecture.vocabulary_size,
        )
        inputs, table = 2 * width + self.position_width, self.span_positions * self.position_width
        parameters = linear_parameters(inputs, width) + norm_parameters(architecture.norm, width) + table
        parameters += linear_parameters(width, embedding) + norm_parameters(architecture.norm, embedding) + vocabulary
        activations = Operations(gelus=width + embedding, normalised=width + embedding)
        maps = linear(inputs, width) + linear(width, embedding) + activations
        loss = Operations(multiply_adds=embedding * vocabulary, softmaxed=vocabulary, lookups=vocabulary + table)
        return Component(
            Role.SPAN_BOUNDARY, architecture.attention_shape, parameters, maps + loss, applied_to="prediction"
        )

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        yield from super().violations()
        if isinstance(self.selection, SingleToken):
            message = "token selects no spans, and a boundary needs one. Did you mean span_geometric?"
            yield Violation(("selection",), message)


class Supersense(AuxiliaryLoss):
    """Masked words, and the supersenses that the lexicon allows each of them, from the same transformed vector.

    The loss of a masked word w with allowed supersenses A is -log Σ p(s) - Σ log p(s) / |A|, both sums over A: any
    allowed supersense, and the regularisation towards all of them. Words without allowed supersenses have no loss.

    Levine et al. 2019 (SenseBERT), arXiv 1908.05646.
    """

    kind: Literal["supersense"] = "supersense"
    """Chooses supersense prediction beside masked language modelling."""
    selection: Selection = Field(default_factory=WholeWord)
    """Which of the other tokens are predicted: whole words, as SenseBERT masks words that are several tokens."""
    single_sense_budget: Share = 0.4
    """Largest share of the predicted tokens that are words of one supersense: these are selected first, and no other
    ones of them after. 0: no words are preferred. Default, as for `single_sense_words`: SenseBERT, section 3."""
    single_sense_words: Share = 0.5
    """Largest share of a sequence's words of one supersense that is selected."""
    supersense_weight: PositiveNumber = 1.0
    """Weight of the loss on the supersenses of masked words in the sum of both losses."""

    @property
    def description(self) -> str:
        """The masks, and how far words of one supersense are preferred."""
        preferred = f"words of one supersense up to {self.single_sense_budget:.0%} of them"
        return f"{super().description}, {preferred}" if self.single_sense_budget else super().description

    @property
    def weight(self) -> float:
        """The weight of the loss on supersenses."""
        return self.supersense_weight

    def own_parts(self, architecture: Architecture) -> tuple[Component, ...]:
        """Return the supersenses' output layer, which is the table of their embeddings."""
        return (supersense_layer(architecture),)

    def needs(self, architecture: Architecture) -> Iterator[Violation]:
        """Yield that the architecture has no supersense embeddings, which are the output layer."""
        if not architecture.supersenses:
            reason = "it predicts by the table of supersense embeddings"
            message = f"0 with objective {self.kind}; {reason}. Did you mean 45, WordNet's?"
            yield Violation(("architecture", "supersenses"), message)


def supersense_layer(architecture: Architecture) -> Component:
    """Return the product with the supersense embeddings and its softmax; it adds no parameters."""
    supersenses = architecture.supersenses
    operations = Operations(multiply_adds=architecture.embedding_width * supersenses, softmaxed=supersenses)
    return Component(Role.SUPERSENSES, architecture.attention_shape, 0, operations, applied_to="prediction")


class EntityReplacement(WithAuxiliaryLosses):
    """Mentions are replaced by names of other entities of the same type; a mention is true or replaced.

    It is classified from the vectors of the tokens beside it. Masks are outside the mentions. The experiment's
    `mentions` say where entities are mentioned. With `static_masks`, replacements are as many versions as masks.
    """

    kind: Literal["entity_replacement"] = "entity_replacement"
    """Chooses entity replacement beside masked language modelling."""
    mask_rate: float = Field(default=0.05, gt=0, lt=1)
    """Share of the tokens that is masked and predicted. Default: WKLM; its ablation has 0.15."""
    replacement_rate: float = Field(default=0.5, gt=0, le=0.5)
    """Share of the mentions that is replaced; two adjacent ones never are, so that it is a half at most. Default of
    this project: WKLM's rate was not found."""
    masked_token_weight: float = Field(default=1.0, ge=0)
    """Weight of the loss of masked language modelling in the sum of both losses; with 0 no token is masked."""
    entity_weight: PositiveNumber = 1.0
    """Weight of the loss on the mentions in the sum of both losses."""

    packing: Packing = Field(default_factory=Mentions)
    """How sequences are made of the text: `mentions`."""

    @property
    def auxiliary_losses(self) -> tuple[AuxiliaryLoss, ...]:
        """None that can be combined with others: mentions are replaced before tokens are masked."""
        return ()

    @property
    def terms(self) -> tuple[str, ...]:
        """Masked language modelling, and the classes of the mentions."""
        return "masked_language_model", self.kind

    def reads(self, packing: PackingOption) -> bool:
        """Sequences with their mentions."""
        return packing.reads_mentions

    @property
    def description(self) -> str:
        """The masks, and the share of replaced mentions."""
        masks = super().description if self.masked_token_weight else f"{self.name}, no masks"
        return f"{masks}, {self.replacement_rate:.0%} of the mentions replaced"

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the vocabulary head, and the entity head, counted at every predicted token."""
        return vocabulary_head(architecture), entity_head(architecture)


def entity_head(architecture: Architecture) -> Component:
    """Return a linear map of the two vectors beside a mention to one logit."""
    width = 2 * architecture.width
    operations = linear(width, 1) + Operations(sigmoids=1)
    parameters = linear_parameters(width, 1)
    return Component(Role.ENTITY, architecture.attention_shape, parameters, operations, applied_to="prediction")
