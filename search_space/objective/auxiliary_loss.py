"""Shared by the objectives that add a second loss to masked language modelling."""

from foundation.schema import PositiveNumber, Share
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.objective.masking import Masking


class WithAuxiliaryLoss(Masking):
    """Masked language modelling and a second loss, summed by weight; the held-out loss is that of masked tokens."""

    mask_token_share: Share = 0.8
    """Share of the predicted positions replaced by [MASK]; default as BERT."""
    random_token_share: Share = 0.1
    """Share of the predicted positions replaced by random tokens; default as BERT."""
    masked_token_weight: PositiveNumber = 1.0
    """Weight of the loss of masked language modelling in the sum of both losses."""

    @property
    def evaluation(self) -> str:
        """That of masked language modelling, whose loss is part of this one."""
        return "masked_language_model"

    @property
    def reference(self) -> MaskedLanguageModel:
        """Masked language modelling with the same masks."""
        return MaskedLanguageModel(**self.masking_fields)
