"""Masked language modelling: predict the masked tokens. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

import numpy as np
from jaxtyping import Float
from torch import Tensor

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel
from tasks.batches import Sequences
from tasks.masking import MaskedBatch, mask
from tasks.objectives.masked_tokens import MaskedTokenModel, masked_token_loss
from tasks.tokenizer import WordPiece


class Model(MaskedTokenModel[MaskedBatch]):
    """An encoder with a vocabulary head."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, MaskedLanguageModel)
        self.objective = candidate.objective

    def prepare(self, sequences: Sequences, tokenizer: WordPiece, random: np.random.Generator) -> MaskedBatch:
        """Return the sequences with masks."""
        return mask(sequences, self.objective, tokenizer, random)

    def loss(self, batch: MaskedBatch, random: np.random.Generator) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats over the predicted positions."""
        hidden = self.encoder(self.tensor(batch.inputs))
        return masked_token_loss(hidden, batch, self.head, self.token_table)[0]
