"""Replaced token detection: find the tokens that a generator replaced. Clark et al. 2020, arXiv 2003.10555."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from models.build_encoder import build_encoder
from models.heads.discriminator import DiscriminatorHead
from models.heads.masked_language_model import MaskedLanguageModelHead, gather_masked
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import ReplacedTokenDetection
from tasks.evaluation_set import EvaluationSet
from tasks.masking import MaskedBatch
from tasks.objectives.pretraining_model import PretrainingModel


class Model(PretrainingModel):
    """ELECTRA: a discriminator on the encoder, and a generator that shares its token embeddings.

    Fine-tuning uses the encoder alone.
    """

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__()
        assert generator is not None
        assert isinstance(candidate.objective, ReplacedTokenDetection)
        self.objective = candidate.objective
        recipe = candidate.recipe
        self.encoder = build_encoder(candidate.architecture, recipe.dropout, None, recipe.activation_checkpointing)
        self.judge = DiscriminatorHead(candidate.architecture)
        self.generator = build_encoder(
            generator, recipe.dropout, self.encoder.embeddings, recipe.activation_checkpointing
        )
        self.generator_head = MaskedLanguageModelHead(generator)

    def loss(self, batch: MaskedBatch, random: np.random.Generator) -> Float[Tensor, ""]:
        """Return the weighted sum of the generator's and the discriminator's losses, in nats."""
        inputs, positions = self.tensor(batch.inputs), self.tensor(batch.masked_positions)
        targets = self.tensor(batch.targets)
        predicted = gather_masked(self.generator(inputs), positions)
        uniforms = torch.from_numpy(random.random(targets.numel(), dtype=np.float32)).to(inputs.device)
        table = self.encoder.embeddings.tokens.weight
        generator_loss, sampled = self.generator_head.loss(predicted, table, targets.flatten(), uniforms)
        samples = sampled.view_as(targets)
        corrupted = inputs.scatter(1, positions, samples)
        replaced = torch.zeros_like(inputs).scatter(1, positions, (samples != targets).long())
        discriminator_loss = binary_cross_entropy_with_logits(self.judge(self.encoder(corrupted)), replaced.float())
        weights = self.objective
        return weights.generator_weight * generator_loss + weights.discriminator_weight * discriminator_loss

    def held_out_losses(self, evaluation_set: EvaluationSet) -> NDArray[np.float32]:
        """Return the discriminator's cross-entropy in nats at every token [sequences seq]."""
        losses = np.empty(evaluation_set.targets.shape, np.float32)
        for rows, part in evaluation_set.batches():
            logits = self.judge(self.encoder(self.tensor(part.inputs)))
            targets = self.tensor(part.targets).float()
            found = binary_cross_entropy_with_logits(logits, targets, reduction="none")
            losses[rows] = found.detach().cpu().numpy()
        return losses

    def pseudo_log_likelihoods(
        self, sentences: Int[np.ndarray, "sentences seq"], mask: int
    ) -> Float[np.ndarray, " sentences"]:
        """Return the sum of each token's log-probability of being original, by the discriminator, in one pass.

        The discriminator and not the generator, because it is the encoder that arms differ in.
        """
        logits = self.judge(self.encoder(self.tensor(sentences)))[:, 1:-1]
        scores: np.ndarray = logsigmoid(-logits.float()).double().cpu().numpy().sum(1)
        return scores
