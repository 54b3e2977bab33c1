"""Masked language modelling: predict the masked tokens. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

import numpy as np
from jaxtyping import Float
from torch import Tensor

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel
from search_space.packing.sequences import Sequences
from steeplechase.models.attention_context import PredictionOrder
from steeplechase.models.output_layer import OutputHead, build_output_layer
from steeplechase.tasks.masking import PaddedBatch, mask, padded
from steeplechase.tasks.objectives.continued_text import (
    ContinuedBatch,
    ContinuedTensors,
    ContinuedTextModel,
    continued,
    halves,
    in_reading_order,
    in_text_order,
)
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, masked_token_loss
from steeplechase.tasks.tokenizer import Tokenizer


class Model(ContinuedTextModel[PaddedBatch]):
    """An encoder with a vocabulary head."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, MaskedLanguageModel)
        self.objective = candidate.objective

    def build_head(self, candidate: Candidate) -> OutputHead:
        """Return the output layer that the objective declares."""
        assert isinstance(candidate.objective, MaskedLanguageModel)
        return build_output_layer(candidate.objective.output_layer, candidate.architecture)

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> PaddedBatch:
        """Return the sequences with masks."""
        masked = mask(in_text_order(sequences), self.objective, tokenizer, random)
        if not self.pairs:
            return padded(masked, sequences, tokenizer)
        return continued(in_reading_order(masked, sequences), sequences, tokenizer)

    def device_batch(self, batch: PaddedBatch, random: np.random.Generator) -> MaskedTensors:
        """Return inputs, padding, predicted positions and targets as tensors on the encoder's device."""
        if not isinstance(batch, ContinuedBatch):
            return self.masked_tensors(batch, batch.real)
        ranks = self.tensor(halves(batch.inputs))
        return self.continued_tensors(batch, PredictionOrder(ranks, ranks[:, :0]))

    def terms(self, batch: MaskedTensors) -> tuple[Float[Tensor, ""]]:
        """Return the mean cross-entropy in nats over the predicted positions."""
        if isinstance(batch, ContinuedTensors):
            vectors = self.read(batch).content
        else:
            vectors = self.predicting_vectors(batch.inputs, batch.real)
        return (masked_token_loss(vectors, batch, self.head, self.token_table)[0],)
