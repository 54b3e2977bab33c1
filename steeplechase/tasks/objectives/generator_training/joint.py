"""Joint training: every update trains both. Clark et al. 2020 (ELECTRA), arXiv 2003.10555."""

from jaxtyping import Float
from torch import Tensor

from steeplechase.tasks.objectives.generated_tokens import Generator
from steeplechase.tasks.objectives.generator_training import CorruptingModel, GeneratorTraining
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors


class Training(GeneratorTraining):
    """The generator by masked language modelling, the encoder by its own loss on the samples."""

    def losses(
        self, model: CorruptingModel, generator: Generator, batch: MaskedTensors
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the mean losses of both."""
        generated = generator.generate(batch)
        return generated.loss, model.own_loss(generated, batch)
