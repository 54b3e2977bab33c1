"""Replaced token detection: say which tokens a small generator has put in. Clark et al. 2020, arXiv 2003.10555."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from models.encoder import Encoder
from models.heads.discriminator import DiscriminatorHead
from models.heads.masked_language_model import MaskedLanguageModelHead, gather_masked
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import ReplacedTokenDetection
from tasks.evaluation_set import EvaluationSet
from tasks.masking import MaskedBatch
from tasks.objectives.pretraining_model import PretrainingModel


class Model(PretrainingModel):
    """The encoder that is kept, a judge on top of it, and a generator that shares its embeddings and is dropped."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__()
        assert generator is not None
        assert isinstance(candidate.objective, ReplacedTokenDetection)
        self.objective = candidate.objective
        recipe = candidate.recipe
        self.encoder = Encoder(candidate.architecture, recipe.dropout, None, recipe.activation_checkpointing)
        self.judge = DiscriminatorHead(candidate.architecture)
        self.generator = Encoder(generator, recipe.dropout, self.encoder.embeddings, recipe.activation_checkpointing)
        self.generator_head = MaskedLanguageModelHead(generator)

    def loss(self, batch: MaskedBatch, random: np.random.Generator) -> Float[Tensor, ""]:
        """Return the weighted sum of the generator's and the judge's losses, in nats."""
        shown, positions = self.tensor(batch.shown), self.tensor(batch.positions)
        answers = self.tensor(batch.answers)
        asked = gather_masked(self.generator(shown), positions)
        uniforms = torch.from_numpy(random.random(answers.numel(), dtype=np.float32)).to(shown.device)
        table = self.encoder.embeddings.tokens.weight
        generator_loss, words = self.generator_head.loss(asked, table, answers.flatten(), uniforms)
        samples = words.view_as(answers)
        filled = shown.scatter(1, positions, samples)
        replaced = torch.zeros_like(shown).scatter(1, positions, (samples != answers).long())
        judge_loss = binary_cross_entropy_with_logits(self.judge(self.encoder(filled)), replaced.float())
        return self.objective.generator_weight * generator_loss + self.objective.discriminator_weight * judge_loss

    def held_out_loss(self, questions: EvaluationSet) -> float:
        """Return the judge's mean cross-entropy in nats over all tokens."""
        total = 0.0
        for part in questions.parts():
            logits = self.judge(self.encoder(self.tensor(part.shown)))
            answers = self.tensor(part.answers).float()
            total += binary_cross_entropy_with_logits(logits, answers, reduction="sum").item()
        return total / questions.answers.size
