"""Entity replacement beside masked language modelling. Xiong et al. 2019 (WKLM), arXiv 1912.09637, section 2."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import EntityReplacement
from search_space.packing.mentions import MentionSequences
from search_space.packing.sequences import Sequences
from search_space.selection.numbering import NONE, NOT_PREDICTED
from steeplechase.models.heads.entity import EntityHead
from steeplechase.models.heads.masked_language_model import gather_masked
from steeplechase.models.precision import to_float32
from steeplechase.tasks.entity_replacement import NO_BOUNDARY, Replaced, replace_entities
from steeplechase.tasks.masking import MaskedBatch, Words, mask
from steeplechase.tasks.objectives.masked_tokens import MaskedTokenModel, masked_token_loss
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokenizer.word_boundaries import words_of


@dataclass(frozen=True)
class EntityBatch(MaskedBatch):
    """A masked batch with replaced mentions and their boundaries."""

    real: NDArray[np.bool_]
    """False at padding [batch seq]."""
    left: NDArray[np.int64]
    """The position before each mention, or NO_BOUNDARY [batch mentions]."""
    right: NDArray[np.int64]
    """The position after it [batch mentions]."""
    replaced: NDArray[np.bool_]
    """Whether it was replaced [batch mentions]."""

    @property
    def classified(self) -> NDArray[np.int64]:
        """The classified mentions, numbered row by row."""
        return np.flatnonzero(self.left != NO_BOUNDARY)


class Model(MaskedTokenModel[EntityBatch]):
    """An encoder with a vocabulary head and a head of mentions."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, EntityReplacement)
        self.objective = candidate.objective
        self.entity_head = EntityHead(candidate.architecture)

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> EntityBatch:
        """Return the sequences with replaced mentions, and with masks outside all mentions."""
        assert isinstance(sequences, MentionSequences)
        objective = self.objective
        changed = replace_entities(sequences, objective.replacement_rate, tokenizer, random, objective.static_masks)
        masked = self._masked(replace(sequences, tokens=changed.tokens), changed, tokenizer, random)
        boundaries = {name: getattr(changed, name) for name in ("left", "right", "replaced")}
        return EntityBatch(**vars(masked), real=changed.tokens != tokenizer.pad, **boundaries)

    def _masked(
        self, sequences: Sequences, changed: Replaced, tokenizer: Tokenizer, random: np.random.Generator
    ) -> MaskedBatch:
        if not self.objective.masked_token_weight:
            positions = np.zeros((len(changed.tokens), 1), np.int64)
            nothing = np.full_like(positions, NOT_PREDICTED)
            return MaskedBatch(changed.tokens, positions, nothing, np.full_like(positions, NONE))
        words = np.where(changed.inside, NONE, words_of(changed.tokens, tokenizer))
        return mask(sequences, self.objective, tokenizer, random, Words(words))

    def predictions_of_terms(self, batch: EntityBatch) -> tuple[int, int]:
        """Return the masked tokens, and the classified mentions."""
        return batch.predictions, len(batch.classified)

    def loss_terms(
        self, batch: EntityBatch, random: np.random.Generator
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return both weighted losses in nats."""
        masked, entity = self.losses(batch)
        return self.objective.masked_token_weight * masked, self.objective.entity_weight * entity

    def losses(self, batch: EntityBatch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the mean losses in nats of masked tokens, and of mentions that are true or replaced."""
        hidden = self.hidden(batch)
        masked, _ = masked_token_loss(hidden, batch, self.head, self.token_table)
        rows = batch.classified
        if not len(rows):
            return masked, hidden.sum() * 0.0
        true = self.tensor(~batch.replaced.ravel()[rows]).float()
        return masked, binary_cross_entropy_with_logits(to_float32(self.entity_logits(hidden, batch)), true)

    def hidden(self, batch: EntityBatch) -> Float[Tensor, "batch seq width"]:
        """Return one vector per token."""
        return self.predicting_vectors(self.tensor(batch.inputs), self.padding_mask(batch.real))

    def entity_logits(
        self, hidden: Float[Tensor, "batch seq width"], batch: EntityBatch
    ) -> Float[Tensor, " mentions"]:
        """Return the logit that each classified mention is true."""
        kept = self.tensor(batch.classified)
        sides = (np.maximum(each, 0) for each in (batch.left, batch.right))
        left, right = (gather_masked(hidden, self.tensor(side))[kept] for side in sides)
        logits: Tensor = self.entity_head(left, right)
        return logits
