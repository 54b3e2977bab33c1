"""Masked language modelling: predict the masked tokens. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

from typing import Literal

from search_space.architecture import Architecture
from search_space.cost import Applied, Component, Operations, Role, linear
from search_space.objective.masking import Masking
from search_space.packing import PackingOption
from search_space.shape import layer_norm_parameters, linear_parameters


class MaskedLanguageModel(Masking):
    """Cross-entropy at the predicted positions; the output table is the embedding table."""

    kind: Literal["masked_language_model"] = "masked_language_model"
    """Chooses masked language modelling."""

    @property
    def reference(self) -> "MaskedLanguageModel":
        """The same masks, one for each sequence."""
        return MaskedLanguageModel(**self.masking_fields)

    def reads(self, packing: PackingOption) -> bool:
        """Sequences of one segment, full or padded."""
        return not (packing.pairs or packing.reads_mentions)

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the components that pretraining adds to the encoder and fine-tuning drops."""
        return (vocabulary_head(architecture),)


def vocabulary_head(architecture: Architecture, applied_to: Applied = "prediction") -> Component:
    """Return a linear map to the embedding width, GELU, layer norm, and the tied token table.

    The biases of the table are counted as parameters; ELECTRA's script counts no operations for them.
    """
    width, embedding_width, vocabulary = (
        architecture.width,
        architecture.embedding_width,
        architecture.vocabulary_size,
    )
    parameters = linear_parameters(width, embedding_width) + layer_norm_parameters(embedding_width) + vocabulary
    transform = linear(width, embedding_width) + Operations(gelus=embedding_width, normalised=embedding_width)
    loss = Operations(softmaxed=vocabulary, lookups=vocabulary)  # lookup of the target
    logits = Operations(multiply_adds=embedding_width * vocabulary)
    operations = transform + logits + loss
    return Component(Role.VOCABULARY, architecture.attention_shape, parameters, operations, applied_to=applied_to)
