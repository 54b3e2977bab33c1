"""Language modelling in one direction: each token from those before it. GPT; BERT, arXiv 1810.04805, Table 5."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.output_layer import OutputLayer, Transformed
from search_space.packing import PackingOption
from search_space.visibility import Visibility
from steeplechase.foundation.errors import Violation


class LanguageModel(PretrainingObjective):
    """Cross-entropy of every token given the tokens on its visible side; the output table is the embedding table."""

    kind: Literal["language_model"] = "language_model"
    """Chooses language modelling, in the direction of the architecture's `visibility`."""
    output_layer: OutputLayer = Field(default_factory=Transformed)
    """From hidden states to the vocabulary: `transformed` as in BERT, `embeddings` as in GPT, or `adaptive`."""

    predicted_share: float = Field(default=1.0, gt=0, le=1, examples=[0.5])
    """Share of every training sequence that is predicted: its last tokens, or its first ones from right to left. 0.5
    is the half loss of Al-Rfou et al. 2018 (arXiv 1808.04444) and of Table 6 of Transformer-XL. The held-out loss is
    of all tokens."""

    @property
    def description(self) -> str:
        """The name, and the output layer where it is not the usual one."""
        usual = isinstance(self.output_layer, Transformed)
        part = "" if self.predicted_share == 1 else f", {self.predicted_share:.0%} of a sequence predicted"
        return f"{super().description}{'' if usual else f', output layer {self.output_layer.kind}'}{part}"

    @property
    def corrupts_at_random(self) -> bool:
        """No: the text is read as it is."""
        return False

    @property
    def visibilities(self) -> tuple[Visibility, ...]:
        """One direction: with all tokens visible, each would be predicted from itself."""
        return ("left_to_right",) if self.packing.consecutive else ("left_to_right", "right_to_left")

    @property
    def reference(self) -> "LanguageModel":
        """Every token of pieces of the stream, consecutive ones where training's are."""
        return LanguageModel(packing=self.packing) if self.packing.consecutive else LanguageModel()

    def measured_on(self, evaluation: str) -> bool:
        """Its own evaluation set, and masked tokens, each of which it predicts from the text on its visible side."""
        return evaluation in (self.evaluation, "masked_language_model")

    def reads(self, packing: PackingOption) -> bool:
        """Sequences of one segment, full or padded."""
        return not (packing.pairs or packing.reads_mentions or packing.follows_text)

    @property
    def reads_memory(self) -> bool:
        """Yes, of consecutive segments."""
        return True

    def predictions(self, length: int) -> int:
        """Return the number of predicted tokens: its share of all but [CLS] and [SEP], or but a first one."""
        tokens = max(1, length - (1 if self.packing.consecutive else 2))
        return max(1, round(self.predicted_share * tokens))

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the output layer."""
        return (self.output_layer.component(architecture),)

    def needs(self, architecture: Architecture) -> Iterator[Violation]:
        """Yield what the output layer needs of the architecture, and a memory of the packing."""
        yield from super().needs(architecture)
        for mistake in self.output_layer.mistakes(architecture):
            yield Violation(("objective", "output_layer"), f"{self.output_layer.kind} {mistake}")
