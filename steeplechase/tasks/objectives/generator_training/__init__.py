"""How a generator is trained: one file per option of `search_space.objective.generator_training`.

Each file defines `Training(candidate, generator)`, a GeneratorTraining.
"""

from abc import abstractmethod
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.models.encoder import Encoder
from steeplechase.tasks.objectives.generated_tokens import CorruptedInputs, Generator
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors


@runtime_checkable
class CorruptingModel(Protocol):
    """A model whose encoder reads the inputs that its generator corrupted."""

    def own_loss(self, corrupted: CorruptedInputs, batch: MaskedTensors) -> Float[Tensor, ""]:
        """Return the encoder's mean loss in nats."""


@runtime_checkable
class Discriminator(Protocol):
    """A model that says which tokens were replaced."""

    def logits(self, corrupted: CorruptedInputs) -> Float[Tensor, "batch seq"]:
        """Return one logit per token; positive for replaced tokens."""

    def discriminator_loss(
        self, logits: Float[Tensor, "batch seq"], replaced: Float[Tensor, "batch seq"], batch: MaskedTensors
    ) -> Float[Tensor, ""]:
        """Return the mean loss in nats."""


class GeneratorTraining(nn.Module):
    """Which losses train generator and encoder; a module, because it may have parameters of its own."""

    def __init__(self, candidate: Candidate, generator: Architecture) -> None:
        super().__init__()

    def start_update(self, number: int, encoder: Encoder, generator: Encoder) -> None:
        """Prepare the update that follows `number` updates: a function of the number and the weights alone."""

    @abstractmethod
    def losses(
        self, model: CorruptingModel, generator: Generator, batch: MaskedTensors
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the mean losses of the generator and of the encoder."""
