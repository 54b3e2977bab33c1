"""The objectives whose evaluation set is made by masked language modelling."""

from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.objective.masking import Masking


class WithMaskedReference(Masking):
    """Its evaluation set has the masks of this objective, made by masked language modelling."""

    @property
    def reference(self) -> MaskedLanguageModel:
        """Masked language modelling with the same masks."""
        return MaskedLanguageModel(**self.masking_fields)
