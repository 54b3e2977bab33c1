"""Word structural objective: put shuffled words back in order. Wang et al. 2019 (StructBERT), arXiv 1908.04577."""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from search_space.objective import WordStructure
from search_space.selection.numbering import NONE
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryLoss, AuxiliaryLossModel, MaskedSequences
from steeplechase.tasks.objectives.masked_tokens import MaskedTokenModel, masked_token_loss
from steeplechase.tasks.shuffling import shuffle
from steeplechase.tasks.tokenizer.word_boundaries import words_of


class WordStructureLoss(AuxiliaryLoss[WordStructure, MaskedBatch]):
    """Cross-entropy of the original tokens of shuffled runs; its targets are a batch of which they are predicted."""

    def prepare(self, model: MaskedTokenModel[Any], source: MaskedSequences) -> tuple[Numbers, MaskedBatch]:
        """Return the inputs with shuffled runs among the tokens that are not masked, and the original tokens."""
        ordinary = words_of(source.sequences.tokens, source.tokenizer) != NONE
        rate, together = self.declared.shuffle_rate, self.declared.shuffled_together
        runs = shuffle(source.masked, ordinary, rate, together, source.random)
        return runs.inputs, runs

    def predictions(self, targets: MaskedBatch) -> int:
        """Return the number of shuffled tokens."""
        return targets.predictions

    def loss(
        self, model: MaskedTokenModel[Any], hidden: Float[Tensor, "batch seq width"], targets: MaskedBatch
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats of shuffled tokens, by the vocabulary head."""
        return masked_token_loss(hidden, targets, model.head, model.token_table)[0]


class Model(AuxiliaryLossModel):
    """An encoder with a vocabulary head, which predicts masked and shuffled tokens."""

    auxiliary_loss = WordStructureLoss
