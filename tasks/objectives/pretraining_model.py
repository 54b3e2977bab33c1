"""The interface between a pretraining objective and the training loop."""

from abc import abstractmethod

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from models.encoder import Encoder
from tasks.evaluation_set import EvaluationSet
from tasks.masking import MaskedBatch


class PretrainingModel(nn.Module):
    """The encoder, which fine-tuning uses, and the heads and models that the objective adds to it."""

    encoder: Encoder

    def tensor(self, array: NDArray[np.int64]) -> Tensor:
        """Return the array as a tensor on the model's device."""
        return torch.from_numpy(array).to(self.encoder.device)

    @abstractmethod
    def loss(self, batch: MaskedBatch, random: np.random.Generator) -> Tensor:
        """Return the training loss of one masked batch in nats, averaged over the predicted positions; a scalar."""

    @abstractmethod
    def held_out_losses(self, evaluation_set: EvaluationSet) -> NDArray[np.float32]:
        """Return the loss in nats of every prediction of the evaluation set [sequences predictions]."""

    def held_out_loss(self, evaluation_set: EvaluationSet) -> float:
        """Return the mean loss in nats over all predictions of the evaluation set."""
        return mean_loss(self.held_out_losses(evaluation_set))

    @abstractmethod
    def pseudo_log_likelihoods(
        self, sentences: Int[np.ndarray, "sentences seq"], mask: int
    ) -> Float[np.ndarray, " sentences"]:
        """Return a score of each sentence in nats: the sum over its tokens, [CLS] and [SEP] left out.

        Sentences are given with [CLS] first and [SEP] last, all equally long; `mask` is the token [MASK].
        """


def mean_loss(losses: NDArray[np.float32]) -> float:
    """Return the mean of losses, summed in float64."""
    return float(losses.mean(dtype=np.float64))
