"""What the objectives on pairs of segments share: masked tokens, and the class of each pair."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from models.heads.segment_pair import SegmentPairHead
from models.precision import to_float32
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective.segment_pair import SegmentPair
from tasks.batches import Sequences
from tasks.masking import MaskedBatch, mask
from tasks.objectives.masked_tokens import MaskedTokenModel, masked_token_loss
from tasks.segment_pairs import UNDEFINED, PairSequences
from tasks.tokenizer import Tokenizer


@dataclass(frozen=True)
class PairBatch(MaskedBatch):
    """Masked pairs of segments."""

    segments: NDArray[np.int64]
    """The segment of every token [batch seq]."""
    real: NDArray[np.bool_]
    """False at padding [batch seq]."""
    labels: NDArray[np.int64]
    """The relation of both segments, or UNDEFINED [batch]."""


class SegmentPairModel(MaskedTokenModel[PairBatch]):
    """An encoder with a vocabulary head, a pooler and an output layer for the relation of two segments."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, SegmentPair)
        self.objective: SegmentPair = candidate.objective
        self.pair_head = SegmentPairHead(candidate.architecture, len(self.objective.relations))

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> PairBatch:
        """Return the pairs with masks."""
        assert isinstance(sequences, PairSequences)
        masked = mask(sequences, self.objective, tokenizer, random)
        real = sequences.tokens != tokenizer.pad
        return PairBatch(**vars(masked), segments=sequences.segments, real=real, labels=sequences.labels)

    def hidden(self, batch: PairBatch) -> Float[Tensor, "batch seq width"]:
        """Return one vector per token."""
        padding_mask = None if batch.real.all() else self.tensor(batch.real)
        vectors: Tensor = self.encoder(self.tensor(batch.inputs), self.tensor(batch.segments), padding_mask)
        return vectors

    def relation_logits(self, batch: PairBatch) -> Float[Tensor, "batch classes"]:
        """Return the logits of the relations of every pair."""
        logits: Tensor = self.pair_head(self.hidden(batch))
        return logits

    def predictions_of_terms(self, batch: PairBatch) -> tuple[int, int]:
        """Return the masked tokens, and the pairs whose relation is defined."""
        return batch.predictions, int((batch.labels != UNDEFINED).sum())

    def loss_terms(
        self, batch: PairBatch, random: np.random.Generator
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return both weighted losses in nats."""
        masked, pair = self.losses(batch)
        return self.objective.masked_token_weight * masked, self.objective.pair_weight * pair

    def losses(self, batch: PairBatch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the mean cross-entropies in nats of masked tokens and of the relations of pairs."""
        hidden = self.hidden(batch)
        masked, _ = masked_token_loss(hidden, batch, self.head, self.token_table)
        return masked, pair_loss(self.pair_head(hidden), batch.labels)


def pair_loss(logits: Float[Tensor, "batch classes"], labels: NDArray[np.int64]) -> Float[Tensor, ""]:
    """Return the mean cross-entropy in nats of the pairs whose relation is defined; 0 without any."""
    defined = np.flatnonzero(labels != UNDEFINED)
    if not len(defined):
        return logits.sum() * 0.0
    targets = logits.new_tensor(labels[defined]).long()
    return cross_entropy(to_float32(logits)[defined.tolist()], targets)
