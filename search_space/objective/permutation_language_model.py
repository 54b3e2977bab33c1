"""Permutation language modelling: tokens are predicted in a drawn order. XLNet, Yang et al. 2019, arXiv 1906.08237.

Section 2.2: the likelihood is factorised in an order drawn for every sequence; section 2.3: two streams of attention
and partial prediction, of the last tokens of the order alone.
"""

import math
from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.objective.segment_pair import segment_pair_head
from search_space.output_layer import EmbeddingTable, OutputLayer
from search_space.packing import ContinuedPairs, PackingOption
from search_space.packing.continued_pairs import SPECIAL_TOKENS
from search_space.selection import Selection, WindowedNGram
from search_space.sublayer.attention import SelfAttention
from search_space.visibility import Visibility
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count, JsonValue

SHORT: JsonValue = {"kind": "windowed_ngram", "longest": 3}
PAIRS: JsonValue = {"kind": "continued_pairs"}
"""Settings of the examples, whose sequences are short."""


class PermutationLanguageModel(PretrainingObjective):
    """Cross-entropy of a share of the tokens, each given the others and those of the share before it in the order.

    The tokens that are not predicted, special ones included, are the context: they come first in the order and read
    each other. The held-out loss is that of masked tokens given all others, so that it is comparable with masked
    language modelling.
    """

    examples: ClassVar = (
        {"partial_prediction": 4.0, "selection": SHORT},
        {"partial_prediction": 4.0, "selection": SHORT, "packing": PAIRS, "next_sentence_weight": 0.5},
    )

    kind: Literal["permutation_language_model"] = "permutation_language_model"
    """Chooses permutation language modelling."""
    partial_prediction: float = Field(default=6.0, gt=1, le=1024, examples=[7.0])
    """K: one token of K is predicted, rounded down to whole tokens. Default: XLNet's."""
    selection: Selection = Field(default_factory=WindowedNGram)
    """Which tokens are predicted. Default: n-grams in windows of context, as in XLNet."""
    permutation_block: Count | None = Field(default=None, examples=[256])
    """Tokens within which the order is drawn; blocks follow one another (XLNet's release: 256). None: the whole
    sequence."""
    output_layer: OutputLayer = Field(default_factory=lambda: EmbeddingTable(biases=True))
    """From hidden states to the vocabulary. Default: the embedding table with a bias per token, as in XLNet."""
    next_sentence_weight: float = Field(default=0.0, ge=0)
    """Weight of the loss of whether B follows A, from the vector of [CLS] (XLNet, Table 6, row 8); 0: none."""

    @property
    def description(self) -> str:
        """The name, and the share of predicted tokens."""
        return f"{self.name}, one token of {self.partial_prediction:g} predicted{self.packing_text}"

    @property
    def terms(self) -> tuple[str, ...]:
        """Both losses, where there is a second one."""
        return (self.kind, "next_sentence_prediction") if self.next_sentence_weight else ()

    @property
    def evaluation(self) -> str:
        """That of masked language modelling."""
        return "masked_language_model"

    @property
    def reference(self) -> MaskedLanguageModel:
        """As many masked tokens, selected alike, all of them [MASK]."""
        rate = 1 / self.partial_prediction
        return MaskedLanguageModel(mask_rate=rate, mask_token_share=1.0, selection=self.selection)

    @property
    def visibilities(self) -> tuple[Visibility, ...]:
        """The order of prediction."""
        return ("permutation",)

    @property
    def reads_memory(self) -> bool:
        """Yes, of the text that pairs follow."""
        return True

    def reads(self, packing: PackingOption) -> bool:
        """Sequences of one segment, full or padded, and pairs that follow text."""
        return packing.follows_text or not (packing.pairs or packing.reads_mentions or packing.consecutive)

    def predictions(self, length: int) -> int:
        """Return the maximum number of predicted tokens, never special ones: 85 of 512 with K = 6."""
        return max(1, min(self._ordinary(length), int(length / self.partial_prediction + 1e-9)))

    def _ordinary(self, length: int) -> int:
        return length - (SPECIAL_TOKENS if self.packing.follows_text else 2)

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the query stream, the output layer, and the head of the pair."""
        pair = (segment_pair_head(architecture, 2),) if self.next_sentence_weight else ()
        return (query_stream(architecture, length), self.output_layer.component(architecture), *pair)

    def needs(self, architecture: Architecture) -> Iterator[Violation]:
        """Yield what the output layer needs of the architecture, and a memory of the packing."""
        yield from super().needs(architecture)
        for mistake in self.output_layer.mistakes(architecture):
            yield Violation(("objective", "output_layer"), f"{self.output_layer.kind} {mistake}")

    def mistakes_at(self, length: int, rows: int) -> Iterator[Violation]:
        """Yield sequences that are too short for a window, or for the predictions, or that blocks do not divide."""
        if isinstance(self.packing, ContinuedPairs):
            yield from self.packing.mistakes_at(length, rows)
        wanted, ordinary = int(length / self.partial_prediction), self._ordinary(length)
        if wanted > ordinary:
            message = f"{wanted} of {length} tokens are predicted with partial_prediction {self.partial_prediction:g}"
            yield Violation(("sequence_length",), f"{message}, and {ordinary} are not special tokens")
        if isinstance(self.selection, WindowedNGram):
            window = math.ceil(self.selection.longest * self.partial_prediction)
            if window > ordinary:
                message = f"{length} tokens are shorter than a window of {window}, the context of an n-gram"
                yield Violation(("sequence_length",), f"{message} of {self.selection.longest}")
        block = self.permutation_block
        if block is not None and length % block:
            message = f"{length} tokens are no whole number of blocks of permutation_block {block}"
            yield Violation(("sequence_length",), message)

    def violations(self) -> Iterator[Violation]:
        """Yield a loss on pairs without pairs."""
        if self.next_sentence_weight and not self.packing.follows_text:
            message = f"{self.next_sentence_weight:g} without a second segment, packed as {self.packing.kind}"
            yield Violation(("next_sentence_weight",), f"{message}. Write packing: continued_pairs, or weight 0")


def query_stream(architecture: Architecture, length: int) -> Component:
    """Return the passage of a predicted token's query through all blocks; it has no parameters but the encoder's."""
    operations = Operations()
    for block in architecture.blocks:
        for sublayer in block:
            if isinstance(sublayer, SelfAttention):
                operations += sublayer.query_operations(length)
            else:
                operations = sum((part.operations for part in sublayer.components(length)), operations)
            operations += Operations(normalised=sublayer.width)
    return Component(Role.QUERY_STREAM, architecture.attention_shape, 0, operations, applied_to="prediction")
