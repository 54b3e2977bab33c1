"""Word structural objective: put shuffled words back in order. Wang et al. 2019 (StructBERT), arXiv 1908.04577."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import WordStructure
from tasks.batches import Sequences
from tasks.masking import MaskedBatch, mask
from tasks.objectives.masked_tokens import MaskedTokenModel, masked_token_loss
from tasks.selection import NONE, words_of
from tasks.shuffling import shuffle
from tasks.tokenizer import Tokenizer


@dataclass(frozen=True)
class ShuffledBatch(MaskedBatch):
    """A masked batch of which some runs of other tokens are shuffled."""

    shuffled_positions: NDArray[np.int64]
    """Shuffled positions, rising along each row [batch shuffled]."""
    shuffled_targets: NDArray[np.int64]
    """The original tokens there, or NOT_PREDICTED [batch shuffled]."""

    @property
    def shuffled(self) -> MaskedBatch:
        """The shuffled positions as the predictions."""
        return MaskedBatch(self.inputs, self.shuffled_positions, self.shuffled_targets, self.shuffled_targets)


class Model(MaskedTokenModel[ShuffledBatch]):
    """An encoder with a vocabulary head, which predicts masked and shuffled tokens."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, WordStructure)
        self.objective = candidate.objective

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> ShuffledBatch:
        """Return the sequences with masks, and with shuffled runs among the other tokens."""
        objective, ordinary = self.objective, words_of(sequences.tokens, tokenizer) != NONE
        masked = mask(sequences, objective, tokenizer, random)
        runs = shuffle(masked, ordinary, objective.shuffle_rate, objective.shuffled_together, random)
        return ShuffledBatch(
            runs.inputs, masked.masked_positions, masked.targets, masked.spans, runs.masked_positions, runs.targets
        )

    def predictions_of_terms(self, batch: ShuffledBatch) -> tuple[int, int]:
        """Return the masked tokens and the shuffled ones."""
        return batch.predictions, batch.shuffled.predictions

    def loss_terms(
        self, batch: ShuffledBatch, random: np.random.Generator
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return both weighted losses in nats."""
        masked, shuffled = self.losses(batch)
        return self.objective.masked_token_weight * masked, self.objective.word_structure_weight * shuffled

    def losses(self, batch: ShuffledBatch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the mean cross-entropies in nats of masked and of shuffled tokens."""
        hidden = self.encoder(self.tensor(batch.inputs))
        masked, _ = masked_token_loss(hidden, batch, self.head, self.token_table)
        shuffled, _ = masked_token_loss(hidden, batch.shuffled, self.head, self.token_table)
        return masked, shuffled
