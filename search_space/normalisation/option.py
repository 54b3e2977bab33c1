"""What every placement of layer norms has."""

from abc import abstractmethod
from typing import ClassVar

from search_space.norm import Norm
from steeplechase.foundation.schema import OpenOption, PositiveNumber


class NormalisationOption(OpenOption):
    """The norms of the embeddings and of every sublayer, and where they stand."""

    package: ClassVar[str] = "search_space.normalisation"
    modules: ClassVar[str] = "steeplechase.models.normalisation"
    entry: ClassVar[str] = "connect"
    norm: Norm = "layer_norm"
    """What a norm computes, here and in heads. Default: BERT's layer norm."""
    embedding: bool = True
    """Whether the sum of the embeddings is normalised, as in BERT; the Transformer and GPT have no such norm."""
    epsilon: PositiveNumber = 1e-12
    """Added to the variance, or to the mean square. Default: BERT's release; RoBERTa has 1e-5."""

    @property
    def has_first_norm(self) -> bool:
        """Whether the first sublayer has a norm."""
        return True

    @property
    @abstractmethod
    def has_final_norm(self) -> bool:
        """Whether the output of the last sublayer is normalised once more."""
