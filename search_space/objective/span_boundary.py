"""Masked language modelling with a span boundary objective. Joshi et al. 2019 (SpanBERT), arXiv 1907.10529, 3.2."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.norm import norm_parameters
from search_space.objective.auxiliary_loss import AuxiliaryLoss
from search_space.selection import Selection, SingleToken, SpanGeometric
from search_space.shape import linear_parameters
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count, PositiveNumber


class SpanBoundary(AuxiliaryLoss):
    """Each token of a masked span is predicted twice: from its own vector, and from the tokens beside the span."""

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
