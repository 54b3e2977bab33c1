"""Adversarial training: the generator maximises the discriminator's loss. Clark et al. 2020 (ELECTRA).

Samples have no gradient, so that the generator is trained by policy gradients (REINFORCE, Williams 1992) with a
learned baseline.
"""

from typing import ClassVar, Literal

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.objective.generator_training.option import GeneratorTrainingOption
from search_space.shape import linear_parameters


class Adversarial(GeneratorTrainingOption):
    """The reward of a sampled token is the discriminator's loss there, minus a baseline of the generator's vector."""

    needs_discriminator: ClassVar[bool] = True

    kind: Literal["adversarial"] = "adversarial"
    """Chooses adversarial training of the generator, in place of masked language modelling."""

    def added_parts(self, generator: Architecture) -> tuple[Component, ...]:
        """Return the value head, which predicts the reward of every masked token."""
        parameters = linear_parameters(generator.width, 1)
        operations = linear(generator.width, 1) + Operations(sigmoids=1)
        return (Component(Role.VALUE, generator.attention_shape, parameters, operations, applied_to="prediction"),)
