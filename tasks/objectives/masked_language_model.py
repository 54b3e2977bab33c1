"""MaskedBatch language modelling: predict the covered tokens. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from models.encoder import Encoder
from models.heads.masked_language_model import MaskedLanguageModelHead, gather_masked
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from tasks.evaluation_set import EvaluationSet
from tasks.masking import MaskedBatch
from tasks.objectives.pretraining_model import PretrainingModel


class Model(PretrainingModel):
    """An encoder with a vocabulary head; logits exist only where something is predicted."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__()
        recipe = candidate.recipe
        self.encoder = Encoder(candidate.architecture, recipe.dropout, None, recipe.activation_checkpointing)
        self.head = MaskedLanguageModelHead(candidate.architecture)

    @property
    def words(self) -> Float[Tensor, "vocab embedding"]:
        """The embedding table, which is the output table too."""
        return self.encoder.embeddings.tokens.weight

    def predict(
        self, shown: Int[Tensor, "batch seq"], positions: Int[Tensor, "batch predictions"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return the logits at the asked positions, row by row; predicted = batch x predictions."""
        logits: Tensor = self.head(gather_masked(self.encoder(shown), positions), self.words)
        return logits

    def loss(self, batch: MaskedBatch, random: np.random.Generator) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats over the predicted positions."""
        asked = gather_masked(self.encoder(self.tensor(batch.shown)), self.tensor(batch.positions))
        loss, _ = self.head.loss(asked, self.words, self.tensor(batch.answers).flatten())
        return loss

    def held_out_loss(self, questions: EvaluationSet) -> float:
        """Return the mean cross-entropy in nats over all questions."""
        total = 0.0
        for part in questions.parts():
            logits = self.predict(self.tensor(part.shown), self.tensor(part.positions))
            total += cross_entropy(logits, self.tensor(part.answers).flatten(), reduction="sum").item()
        return total / questions.answers.size
