"""Masked language modelling with further losses: what the objectives with auxiliary losses share."""

from abc import abstractmethod
from typing import ClassVar

from search_space.architecture import Architecture
from search_space.cost import Component
from search_space.objective.masked_language_model import WithMaskedReference
from search_space.output_layer.transformed import vocabulary_head
from steeplechase.foundation.schema import PositiveNumber, Share


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
