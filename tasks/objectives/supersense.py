"""Supersense prediction beside masked language modelling. Levine et al. 2019 (SenseBERT), arXiv 1908.05646."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import linear

from models.heads.masked_language_model import gather_masked
from models.precision import to_float32
from models.supersense_embeddings import SupersenseEmbeddings
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import Supersense
from tasks.batches import Sequences
from tasks.masking import MaskedBatch, Words, mask
from tasks.objectives.masked_tokens import MaskedTokenModel, masked_token_loss
from tasks.selection import NONE, words_of
from tasks.selection.preferred import PreferredWords
from tasks.tokenizer import Tokenizer


@dataclass(frozen=True)
class SenseBatch(MaskedBatch):
    """A masked batch with the supersenses that the lexicon allows its masked words."""

    allowed: NDArray[np.bool_]
    """Of each predicted position; none where it is not predicted, or no whole word [batch predictions senses]."""

    @property
    def words(self) -> NDArray[np.bool_]:
        """Whether each position has a supersense to predict [batch predictions]."""
        return np.asarray(self.allowed.any(axis=2))


class Model(MaskedTokenModel[SenseBatch]):
    """An encoder with supersense embeddings, and a vocabulary head whose vector predicts supersenses too."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, Supersense)
        self.objective = candidate.objective

    @property
    def supersenses(self) -> SupersenseEmbeddings:
        """The supersense embeddings: input and output layer."""
        embeddings = self.encoder.embeddings.supersenses
        assert embeddings is not None
        return embeddings

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> SenseBatch:
        """Return the sequences with masks, words of one supersense preferred, and what the lexicon allows."""
        numbers = words_of(sequences.tokens, tokenizer)
        allowed = self.supersenses.allowed[self.tensor(sequences.tokens)].cpu().numpy() & alone(numbers)[..., None]
        objective, preferred = self.objective, None
        if objective.single_sense_budget:
            single = allowed.sum(axis=2) == 1
            preferred = PreferredWords(single, objective.single_sense_words, objective.single_sense_budget)
        masked = mask(sequences, objective, tokenizer, random, Words(numbers, preferred))
        at_positions = np.take_along_axis(allowed, masked.masked_positions[..., None], axis=1)
        return SenseBatch(**vars(masked), allowed=at_positions & (masked.spans != NONE)[..., None])

    def predictions_of_terms(self, batch: SenseBatch) -> tuple[int, int]:
        """Return the masked tokens, and the words among them with a supersense."""
        return batch.predictions, int(batch.words.sum())

    def loss_terms(
        self, batch: SenseBatch, random: np.random.Generator
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return both weighted losses in nats."""
        masked, sense = self.losses(batch)
        return self.objective.masked_token_weight * masked, self.objective.supersense_weight * sense

    def losses(self, batch: SenseBatch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the mean losses in nats of masked tokens, and of the supersenses of masked words."""
        hidden = self.encoder(self.tensor(batch.inputs))
        masked, _ = masked_token_loss(hidden, batch, self.head, self.token_table)
        rows = np.flatnonzero(batch.words)
        if not len(rows):
            return masked, hidden.sum() * 0.0
        x = gather_masked(hidden, self.tensor(batch.masked_positions))[self.tensor(rows)]
        allowed = self.tensor(batch.allowed.reshape(-1, batch.allowed.shape[2])[rows])
        return masked, supersense_loss(self.supersense_logits(x), allowed)

    def supersense_logits(self, x: Float[Tensor, "predicted width"]) -> Float[Tensor, "predicted senses"]:
        """Return the logits of all supersenses from the vectors of masked positions."""
        return linear(self.head.embedded(x), self.supersenses.table)


def alone(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether every token is a word by itself, by the numbers of the words [batch seq]."""
    with_neighbour = np.zeros(numbers.shape, np.bool_)
    same = numbers[:, 1:] == numbers[:, :-1]
    with_neighbour[:, 1:] |= same
    with_neighbour[:, :-1] |= same
    return np.asarray((numbers != NONE) & ~with_neighbour)


def supersense_loss(
    logits: Float[Tensor, "predicted senses"], allowed: Bool[Tensor, "predicted senses"]
) -> Float[Tensor, ""]:
    """Return the mean of -log Σ p(s) - Σ log p(s) / |A| in nats, sums over the allowed supersenses A; section 3.2."""
    scores = to_float32(logits).log_softmax(dim=-1)
    any_of_them = scores.masked_fill(~allowed, -torch.inf).logsumexp(dim=-1)
    towards_all = (scores * allowed).sum(dim=-1) / allowed.sum(dim=-1)
    return -(any_of_them + towards_all).mean()
