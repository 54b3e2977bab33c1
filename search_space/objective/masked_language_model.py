"""Masked language modelling: predict the masked tokens. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component
from search_space.objective.masking import Masking
from search_space.output_layer import OutputLayer, Transformed
from search_space.packing import ContinuedPairs, PackingOption
from steeplechase.foundation.errors import Violation


class MaskedLanguageModel(Masking):
    """Cross-entropy at the predicted positions; the output table is the embedding table, unless it is untied."""

    kind: Literal["masked_language_model"] = "masked_language_model"
    """Chooses masked language modelling."""
    output_layer: OutputLayer = Field(default_factory=Transformed)
    """From hidden states to the vocabulary: `transformed` as in BERT, `untied` as in NeoBERT, or `soft_capped`."""

    @property
    def description(self) -> str:
        """The name, the share of predicted tokens, and the output layer where it is not the usual one."""
        layer = "" if isinstance(self.output_layer, Transformed) else f", output layer {self.output_layer.kind}"
        return f"{super().description}{layer}"

    @property
    def reference(self) -> "MaskedLanguageModel":
        """The same masks, one for each sequence."""
        return MaskedLanguageModel(**self.masking_fields)

    def reads(self, packing: PackingOption) -> bool:
        """Sequences of one segment, full or padded, and pairs that follow text."""
        return packing.follows_text or not (packing.pairs or packing.reads_mentions or packing.consecutive)

    @property
    def reads_memory(self) -> bool:
        """Yes, of the text that pairs follow."""
        return True

    def mistakes_at(self, length: int, rows: int) -> Iterator[Violation]:
        """Yield what the packing cannot be made of."""
        if isinstance(self.packing, ContinuedPairs):
            yield from self.packing.mistakes_at(length, rows)

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the components that pretraining adds to the encoder and fine-tuning drops."""
        return (self.output_layer.component(architecture),)

    def needs(self, architecture: Architecture) -> Iterator[Violation]:
        """Yield what the output layer needs of the architecture, and a memory of the packing."""
        yield from super().needs(architecture)
        for mistake in self.output_layer.mistakes(architecture):
            yield Violation(("objective", "output_layer"), f"{self.output_layer.kind} {mistake}")


class WithMaskedReference(Masking):
    """Its evaluation set has the masks of this objective, made by masked language modelling."""

    @property
    def reference(self) -> MaskedLanguageModel:
        """Masked language modelling with the same masks."""
        return MaskedLanguageModel(**self.masking_fields)
