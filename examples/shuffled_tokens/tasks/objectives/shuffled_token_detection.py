"""Shuffled token detection: which tokens of the input were moved? Yamaguchi et al. 2021, arXiv 2109.01819."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.packing.sequences import Sequences
from search_space.selection.numbering import NONE
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.foundation.randomness import stream
from steeplechase.models.encoder import Encoder
from steeplechase.models.heads.logit import LogitHead
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.masking import Rows
from steeplechase.tasks.objectives.pretraining_model import EvaluationSource, PretrainingModel
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokenizer.word_boundaries import words_of


@dataclass(frozen=True)
class ShuffledBatch(Rows):
    """The inputs and which of them were moved, both [batch seq]."""

    inputs: Numbers
    moved: NDArray[np.float32]

    @property
    def predictions(self) -> int:
        """Number of all tokens: the loss is averaged over them."""
        return self.inputs.size


class Model(PretrainingModel[ShuffledBatch]):
    """An encoder with one logit per token."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__()
        recipe = candidate.recipe
        self.objective = candidate.objective
        self.encoder = Encoder(candidate.architecture, recipe.dropout, None, recipe.activation_checkpointing)
        self.head = LogitHead(candidate.architecture.width, "moved")

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> ShuffledBatch:
        """Return the sequences with some tokens permuted; a token whose place has the same token is not moved."""
        inputs = sequences.tokens.copy()
        ordinary = words_of(inputs, tokenizer) != NONE
        chosen = ordinary & (random.random(inputs.shape) < self.objective.shuffle_rate)
        for row, places in zip(inputs, chosen, strict=True):
            row[places] = random.permutation(row[places])
        return ShuffledBatch(inputs, (inputs != sequences.tokens).astype(np.float32))

    def loss_terms(self, batch: ShuffledBatch, random: np.random.Generator) -> tuple[Float[Tensor, ""]]:
        """Return the mean binary cross-entropy in nats over all tokens."""
        return (binary_cross_entropy_with_logits(self.logits(batch.inputs), self.tensor(batch.moved)),)

    def logits(self, inputs: Int[np.ndarray, "batch seq"]) -> Float[Tensor, "batch seq"]:
        """Return one logit per token, positive for moved tokens."""
        hidden = self.encoder(self.tensor(inputs))
        logits: Tensor = self.head(hidden.flatten(0, 1)).view(hidden.shape[:2])
        return logits

    @classmethod
    def evaluation_set(cls, source: EvaluationSource) -> EvaluationSet:
        """Return the sequences of the reference with tokens permuted; every token is a prediction."""
        model = cls(source.reference, None)
        batch = model.prepare(source.sequences, source.tokenizer, stream(source.seed, "held-out shuffling"))
        positions = np.broadcast_to(np.arange(batch.inputs.shape[1]), batch.inputs.shape).copy()
        return EvaluationSet(batch.inputs, positions, batch.moved.astype(np.int64))

    def prediction_losses(self, part: EvaluationSet) -> Tensor:
        """Return the binary cross-entropy in nats of every token."""
        targets = self.tensor(part.targets).float()
        return binary_cross_entropy_with_logits(self.logits(part.inputs), targets, reduction="none")

    def pseudo_log_likelihoods(
        self, sentences: Int[np.ndarray, "sentences seq"], mask: int
    ) -> Float[np.ndarray, " sentences"]:
        """Return the sum of each token's log-probability of not having been moved."""
        scores: np.ndarray = logsigmoid(-self.logits(sentences)[:, 1:-1]).double().cpu().numpy().sum(1)
        return scores
