"""Language modelling in one direction: each token from those before it. GPT; BERT, arXiv 1810.04805, Table 5."""

from typing import Literal

from search_space.architecture import Architecture
from search_space.cost import Component
from search_space.objective.masked_language_model import vocabulary_head
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.packing import PackingOption
from search_space.sublayer.attention import Visibility


class LanguageModel(PretrainingObjective):
    """Cross-entropy of every token given the tokens on its visible side; the output table is the embedding table."""

    kind: Literal["language_model"] = "language_model"
    """Chooses language modelling, in the direction of the architecture's `visibility`."""

    @property
    def corrupts_at_random(self) -> bool:
        """No: the text is read as it is."""
        return False

    @property
    def visibilities(self) -> tuple[Visibility, ...]:
        """One direction: with all tokens visible, each would be predicted from itself."""
        return ("left_to_right", "right_to_left")

    @property
    def reference(self) -> "LanguageModel":
        """Every token of pieces of the stream."""
        return LanguageModel()

    def measured_on(self, evaluation: str) -> bool:
        """Its own evaluation set, and masked tokens, each of which it predicts from the text on its visible side."""
        return evaluation in (self.evaluation, "masked_language_model")

    def reads(self, packing: PackingOption) -> bool:
        """Sequences of one segment, full or padded."""
        return not (packing.pairs or packing.reads_mentions)

    def predictions(self, length: int) -> int:
        """Return the number of predicted tokens: all but [CLS] and [SEP]."""
        return max(1, length - 2)

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the vocabulary head."""
        return (vocabulary_head(architecture),)
