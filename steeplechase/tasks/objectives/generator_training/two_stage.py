"""Two-stage training: the generator alone, then the encoder from its weights. Clark et al. 2020 (ELECTRA)."""

import torch
from jaxtyping import Float
from torch import Tensor

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective.generator_training import TwoStage
from search_space.objective.replaced_tokens import ReplacedTokens
from steeplechase.models.encoder import Encoder
from steeplechase.tasks.objectives.generated_tokens import Generator
from steeplechase.tasks.objectives.generator_training import CorruptingModel, GeneratorTraining
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors


class Training(GeneratorTraining):
    """The generator by masked language modelling; then it is copied into the encoder and frozen.

    The moments of the optimiser are not copied. The heads of the encoder keep their random initialisation.
    """

    def __init__(self, candidate: Candidate, generator: Architecture) -> None:
        super().__init__(candidate, generator)
        assert isinstance(candidate.objective, ReplacedTokens)
        training = candidate.objective.generator_training
        assert isinstance(training, TwoStage)
        self.generator_updates = candidate.recipe.steps(training.generator_tokens)
        self.second_stage = False

    def start_update(self, number: int, encoder: Encoder, generator: Encoder) -> None:
        """Begin the second stage after the generator's updates."""
        if number == self.generator_updates:
            encoder.load_state_dict(generator.state_dict())
        self.second_stage = number >= self.generator_updates

    def losses(
        self, model: CorruptingModel, generator: Generator, batch: MaskedTensors
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the mean loss of the model that the stage trains, and 0 for the other."""
        with torch.set_grad_enabled(not self.second_stage):
            generated = generator.generate(batch)
        if self.second_stage:
            return torch.zeros_like(generated.loss), model.own_loss(generated, batch)
        return generated.loss, torch.zeros_like(generated.loss)
