"""What every placement of layer norms has."""

from abc import abstractmethod
from typing import ClassVar

from steeplechase.foundation.schema import OpenOption, PositiveNumber


class NormalisationOption(OpenOption):
    """Layer norms of the embeddings and of every sublayer."""

    package: ClassVar[str] = "search_space.normalisation"
    modules: ClassVar[str] = "steeplechase.models.normalisation"
    embedding: bool = True
    """Whether the sum of the embeddings is normalised, as in BERT; the Transformer and GPT have no such norm."""
    epsilon: PositiveNumber = 1e-12
    """Added to the variance. Default: BERT's release; RoBERTa has 1e-5."""

    @property
    @abstractmethod
    def has_final_norm(self) -> bool:
        """Whether the output of the last sublayer is normalised once more."""
