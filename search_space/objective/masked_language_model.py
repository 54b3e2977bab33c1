"""Masked language modelling: predict the covered tokens. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

from typing import Literal

from search_space.architecture import Architecture
from search_space.objective.masking import Masking
from search_space.shape import layer_norm_parameters, linear_flops, linear_parameters


class MaskedLanguageModel(Masking):
    """Cross-entropy at the predicted positions; the output table is the embedding table."""

    kind: Literal["masked_language_model"] = "masked_language_model"

    def generator_of(self, architecture: Architecture, baseline: Architecture) -> Architecture | None:
        """Return the generator that corrupts the input: none, masks suffice."""
        return None

    def head_parameters(self, architecture: Architecture, generator: Architecture | None) -> int:
        """Return the values that pretraining adds to the encoder and fine-tuning drops."""
        return vocabulary_head_parameters(architecture)

    def forward_flops(self, architecture: Architecture, generator: Architecture | None, length: int) -> int:
        """Return the operations of one pretraining forward pass over a sequence of `length` tokens."""
        head = self.predictions(length) * vocabulary_head_flops(architecture)
        return architecture.forward_flops(length) + head


def vocabulary_head_parameters(architecture: Architecture) -> int:
    """Return the map to the embedding width, its normalisation and one bias per word; the table is shared."""
    width, embedding_width = architecture.width, architecture.embedding_width
    transform = linear_parameters(width, embedding_width) + layer_norm_parameters(embedding_width)
    return transform + architecture.vocabulary_size


def vocabulary_head_flops(architecture: Architecture) -> int:
    """Return the operations of predicting one token."""
    transform = linear_flops(architecture.width, architecture.embedding_width)
    return transform + linear_flops(architecture.embedding_width, architecture.vocabulary_size)
