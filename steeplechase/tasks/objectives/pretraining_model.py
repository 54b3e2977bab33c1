"""The interface of a pretraining objective's module: its batches, its loss, and its evaluation set."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from search_space.candidate import Candidate
from search_space.packing.sequences import Sequences
from steeplechase.models.devices import on_device
from steeplechase.models.encoder import Encoder
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.progress import Progress
from steeplechase.tasks.tokenizer import Tokenizer


@runtime_checkable
class TrainingBatch(Protocol):
    """What an objective makes of sequences; only the objective's own loss reads more of it than this."""

    @property
    def predictions(self) -> int:
        """Number of predicted tokens."""

    def micro_batches(self, parts: int) -> "Iterator[Self]":
        """Yield the batch in `parts` parts of whole sequences."""


Batch = TypeVar("Batch", bound=TrainingBatch)
"""The batch of one objective."""


def weighted(weight: float, loss: Tensor) -> Tensor:
    """Return a loss times its weight; times 1 it is the same, and a GPU launches nothing."""
    return loss if weight == 1 else loss * weight


@dataclass(frozen=True)
class EvaluationSource:
    """What an objective makes an evaluation set of."""

    reference: Candidate
    """Its objective corrupts the sequences, its recipe has the precision."""
    sequences: Sequences
    """Of the validation split."""
    tokenizer: Tokenizer
    generator: "PretrainingModel[Any] | None"
    """The reference candidate's model, trained; None if the objective declares no `reference_generator`."""
    progress: Progress

    @property
    def seed(self) -> int:
        """The seed of every random stream of the evaluation set."""
        return self.sequences.seed


class PretrainingModel(nn.Module, Generic[Batch]):
    """The encoder, which fine-tuning uses, and the heads and models that the objective adds to it."""

    encoder: Encoder

    def tensor(self, array: NDArray[Any]) -> Tensor:
        """Return the array as a tensor on the model's device."""
        return on_device(array, self.encoder.device)

    def start_update(self, number: int) -> None:
        """Prepare the update that follows `number` updates: a function of the number and the weights alone."""

    @abstractmethod
    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> Batch:
        """Return the batch that `loss` reads: a function of the sequences and the random stream alone."""

    def loss_terms(self, batch: Batch, random: np.random.Generator) -> tuple[Tensor, ...]:
        """Return the weighted terms of the loss of one batch in nats; each is a mean, and 0 without predictions."""
        return self.terms(self.device_batch(batch, random))

    def device_batch(self, batch: Batch, random: np.random.Generator) -> Any:
        """Return a batch as `terms` reads it: tensors on the device, and what the host decides and draws."""
        raise NotImplementedError

    def terms(self, batch: Any) -> tuple[Tensor, ...]:
        """Return the terms of the loss of a `device_batch`: one graph for torch.compile, which reads no value."""
        raise NotImplementedError

    def predictions_of_terms(self, batch: Batch) -> tuple[int, ...]:
        """Return how many predictions of the batch each term of the loss averages over."""
        return (batch.predictions,)

    def shares(self, part: Batch, totals: tuple[int, ...], random: np.random.Generator) -> tuple[Tensor, ...]:
        """Return the terms of the loss of a micro-batch, each by its share of the predictions of the whole batch.

        Summed over all micro-batches they are the terms of the batch; `totals` are its predictions of each term.
        """
        counts = zip(self.loss_terms(part, random), self.predictions_of_terms(part), totals, strict=True)
        return tuple(weighted(count / max(1, total), term) for term, count, total in counts)

    def loss(self, batch: Batch, random: np.random.Generator) -> Tensor:
        """Return the training loss of one batch in nats: the sum of its terms."""
        first, *others = self.loss_terms(batch, random)
        return sum(others, first)

    @classmethod
    @abstractmethod
    def evaluation_set(cls, source: EvaluationSource) -> EvaluationSet:
        """Return the evaluation set that is measured by `held_out_losses`, equal for all arms."""

    def held_out_losses(self, evaluation_set: EvaluationSet) -> NDArray[np.float32]:
        """Return the loss in nats of every prediction of the evaluation set [sequences predictions]."""
        losses = np.empty(evaluation_set.targets.shape, np.float32)
        for rows, part in evaluation_set.batches():
            losses[rows] = self.prediction_losses(part).view(part.targets.shape).detach().cpu().numpy()
        return losses

    @abstractmethod
    def prediction_losses(self, part: EvaluationSet) -> Tensor:
        """Return the loss in nats of every prediction in some rows of the evaluation set, row by row."""

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
