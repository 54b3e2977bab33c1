"""Masked language modelling with auxiliary losses: one or several, each on the same encoder, masks and batch.

Each objective with an auxiliary loss is a file with a subclass of `AuxiliaryLoss` and a `Model` that names it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective.auxiliary_loss import AuxiliaryLoss as Declaration
from search_space.objective.auxiliary_loss import WithAuxiliaryLosses
from search_space.packing.sequences import PairSequences, Sequences
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.tasks.masking import MaskedBatch, Rows, Words, mask
from steeplechase.tasks.objectives import model_class
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, MaskedTokenModel, masked_token_loss
from steeplechase.tasks.tokenizer import Tokenizer

Targets = TypeVar("Targets", bound=Rows)
"""What one auxiliary loss reads of a batch."""
Declared = TypeVar("Declared", bound=Declaration)


@dataclass(frozen=True)
class AuxiliaryBatch(MaskedBatch):
    """Masked sequences with the targets of every auxiliary loss."""

    segments: NDArray[np.int64]
    """The segment of every token [batch seq]."""
    real: NDArray[np.bool_]
    """False at padding [batch seq]."""
    auxiliary: tuple[Any, ...]
    """The targets, one `Rows` for each auxiliary loss."""


@dataclass(frozen=True)
class AuxiliaryTensors(MaskedTensors):
    """A batch on the device."""

    segments: Int[Tensor, "batch seq"] | None = None
    """The segment of every token; None without pairs."""
    varying: ClassVar[tuple[str, ...]] = ("rows", "groups", "auxiliary")
    auxiliary: tuple[Any, ...] = ()
    """The targets of each auxiliary loss."""


@dataclass(frozen=True)
class MaskedSequences:
    """What an auxiliary loss makes its targets of."""

    masked: MaskedBatch
    sequences: Sequences
    """Before they were masked."""
    tokenizer: Tokenizer
    random: np.random.Generator


class AuxiliaryLoss(ABC, Generic[Declared, Targets]):
    """One loss beside that of masked tokens: its head, its targets and its value."""

    head_name: ClassVar[str] = ""
    """The name of `head` in the model."""

    head: nn.Module | None = None
    """The module with its own parameters, None without any."""

    def __init__(self, declared: Declared, architecture: Architecture) -> None:
        self.declared = declared

    def words(self, model: MaskedTokenModel[Any], sequences: Sequences, tokenizer: Tokenizer) -> Words | None:
        """Return the words that may be masked, some of them preferred; None: all words alike."""
        return None

    @abstractmethod
    def prepare(self, model: MaskedTokenModel[Any], source: MaskedSequences) -> tuple[Numbers, Targets]:
        """Return the inputs, which it may corrupt where no token is masked, and its targets."""

    @abstractmethod
    def predictions(self, targets: Targets) -> int:
        """Return how many predictions the loss averages over."""

    def device_targets(self, model: MaskedTokenModel[Any], targets: Targets) -> Any:
        """Return the targets as `loss` reads them: as tensors, if torch.compile is to take the loss as one graph."""
        return targets

    @abstractmethod
    def loss(
        self, model: MaskedTokenModel[Any], hidden: Float[Tensor, "batch seq width"], targets: Any
    ) -> Float[Tensor, ""]:
        """Return the mean loss in nats before its weight, of `device_targets`; 0 without predictions."""


class AuxiliaryLossModel(MaskedTokenModel[AuxiliaryBatch]):
    """An encoder with a vocabulary head, and the heads of the objective's auxiliary losses."""

    auxiliary_loss: ClassVar[type[AuxiliaryLoss[Any, Any]]]
    """The auxiliary loss of the file's objective; a combination has none of its own."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, WithAuxiliaryLosses)
        self.objective: WithAuxiliaryLosses = candidate.objective
        self.auxiliary = tuple(
            _loss_class(each)(each, candidate.architecture) for each in self.objective.auxiliary_losses
        )
        for each in self.auxiliary:
            if each.head is not None:
                self.add_module(each.head_name, each.head)

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> AuxiliaryBatch:
        """Return the sequences with masks, and with the targets of every auxiliary loss in the order of the parts."""
        words = (each.words(self, sequences, tokenizer) for each in self.auxiliary)
        preferred = next((each for each in words if each is not None), None)
        masked = mask(sequences, self.objective, tokenizer, random, preferred)
        targets: list[Rows] = []
        for each in self.auxiliary:
            inputs, own = each.prepare(self, MaskedSequences(masked, sequences, tokenizer, random))
            masked = replace(masked, inputs=inputs)
            targets.append(own)
        segments = sequences.segments if isinstance(sequences, PairSequences) else np.zeros_like(masked.inputs)
        real = sequences.tokens != tokenizer.pad
        return AuxiliaryBatch(**vars(masked), segments=segments, real=real, auxiliary=tuple(targets))

    def device_batch(self, batch: AuxiliaryBatch, random: np.random.Generator) -> AuxiliaryTensors:
        """Return the masked tokens and the targets of every loss as tensors on the encoder's device."""
        masked = self.masked_tensors(batch, batch.real)
        segments = self.tensor(batch.segments) if self.objective.packing.pairs else None
        others = zip(self.auxiliary, batch.auxiliary, strict=True)
        targets = tuple(each.device_targets(self, targets) for each, targets in others)
        return AuxiliaryTensors(**vars(masked), segments=segments, auxiliary=targets)

    def hidden(self, batch: AuxiliaryTensors) -> Float[Tensor, "batch seq width"]:
        """Return one vector per token."""
        vectors: Tensor = self.encoder(batch.inputs, batch.segments, batch.real)
        return vectors

    def predictions_of_terms(self, batch: AuxiliaryBatch) -> tuple[int, ...]:
        """Return the masked tokens, and the predictions of every auxiliary loss."""
        others = zip(self.auxiliary, batch.auxiliary, strict=True)
        return batch.predictions, *(each.predictions(targets) for each, targets in others)

    def terms(self, batch: AuxiliaryTensors) -> tuple[Float[Tensor, ""], ...]:
        """Return the weighted losses in nats."""
        masked, *others = self.losses(batch)
        weighted = (each.declared.weight * loss for each, loss in zip(self.auxiliary, others, strict=True))
        return self.objective.masked_token_weight * masked, *weighted

    def losses(self, batch: AuxiliaryTensors) -> tuple[Float[Tensor, ""], ...]:
        """Return the mean losses in nats of masked tokens and of every auxiliary loss."""
        hidden = self.hidden(batch)
        masked, _ = masked_token_loss(hidden, batch, self.head, self.token_table)
        others = zip(self.auxiliary, batch.auxiliary, strict=True)
        return masked, *(each.loss(self, hidden, targets) for each, targets in others)


def _loss_class(declared: Declaration) -> type[AuxiliaryLoss[Any, Any]]:
    model = model_class(declared.kind)
    assert issubclass(model, AuxiliaryLossModel)
    return model.auxiliary_loss
