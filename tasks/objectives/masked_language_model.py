"""Masked language modelling: predict the masked tokens. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from models.build_encoder import build_encoder
from models.heads.masked_language_model import MaskedLanguageModelHead, gather_masked
from models.precision import to_float32
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from tasks.evaluation_set import EvaluationSet
from tasks.masking import MaskedBatch
from tasks.objectives.pretraining_model import PretrainingModel


class Model(PretrainingModel):
    """An encoder with a vocabulary head; logits are computed at the predicted positions only."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__()
        recipe = candidate.recipe
        self.encoder = build_encoder(candidate.architecture, recipe.dropout, None, recipe.activation_checkpointing)
        self.head = MaskedLanguageModelHead(candidate.architecture)

    @property
    def token_table(self) -> Float[Tensor, "vocab embedding"]:
        """The token embeddings, shared with the output layer (tied weights)."""
        return self.encoder.embeddings.tokens.weight

    def predict(
        self, inputs: Int[Tensor, "batch seq"], positions: Int[Tensor, "batch predictions"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return the logits at the predicted positions, row by row; predicted = batch x predictions."""
        logits: Tensor = self.head(gather_masked(self.encoder(inputs), positions), self.token_table)
        return logits

    def loss(self, batch: MaskedBatch, random: np.random.Generator) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats over the predicted positions."""
        predicted = gather_masked(self.encoder(self.tensor(batch.inputs)), self.tensor(batch.masked_positions))
        loss, _ = self.head.loss(predicted, self.token_table, self.tensor(batch.targets).flatten())
        return loss

    def held_out_losses(self, evaluation_set: EvaluationSet) -> NDArray[np.float32]:
        """Return the cross-entropy in nats at every predicted position [sequences predictions]."""
        losses = np.empty(evaluation_set.targets.shape, np.float32)
        for rows, part in evaluation_set.batches():
            logits = to_float32(self.predict(self.tensor(part.inputs), self.tensor(part.positions)))
            found = cross_entropy(logits, self.tensor(part.targets).flatten(), reduction="none")
            losses[rows] = found.view(part.targets.shape).detach().cpu().numpy()
        return losses

    def pseudo_log_likelihoods(
        self, sentences: Int[np.ndarray, "sentences seq"], mask: int
    ) -> Float[np.ndarray, " sentences"]:
        """Return the sum of each token's log-probability where it alone is masked. Salazar et al. 2020, eq. 1."""
        count, inside = len(sentences), sentences.shape[1] - 2
        copies = np.repeat(sentences, inside, axis=0)
        positions = np.tile(np.arange(1, inside + 1), count)[:, None]
        targets = np.take_along_axis(copies, positions, axis=1)
        np.put_along_axis(copies, positions, mask, axis=1)
        logits = self.predict(self.tensor(copies), self.tensor(positions))
        losses = cross_entropy(logits.float(), self.tensor(targets).flatten(), reduction="none")
        scores: np.ndarray = -losses.double().cpu().numpy().reshape(count, inside).sum(1)
        return scores
