"""Entity replacement beside masked language modelling. Xiong et al. 2019 (WKLM), arXiv 1912.09637, section 2."""

from typing import Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.objective.auxiliary_loss import AuxiliaryLoss, WithAuxiliaryLosses
from search_space.output_layer.transformed import vocabulary_head
from search_space.packing import Mentions, Packing, PackingOption
from search_space.shape import linear_parameters
from steeplechase.foundation.schema import PositiveNumber


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
