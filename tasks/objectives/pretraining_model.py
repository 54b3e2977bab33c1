"""What every pretraining objective offers the training loop."""

from abc import abstractmethod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.encoder import Encoder
from tasks.evaluation_set import EvaluationSet
from tasks.masking import MaskedBatch


class PretrainingModel(nn.Module):
    """The encoder that is kept, and whatever the objective adds to it."""

    encoder: Encoder

    def tensor(self, array: NDArray[np.int64]) -> Tensor:
        """Return the array as a tensor where the model is."""
        return torch.from_numpy(array).to(self.encoder.device)

    @abstractmethod
    def loss(self, batch: MaskedBatch, random: np.random.Generator) -> Tensor:
        """Return the training loss of one masked batch in nats, averaged over what is asked; a scalar."""

    @abstractmethod
    def held_out_loss(self, questions: EvaluationSet) -> float:
        """Return the mean loss in nats over all held-out questions."""
