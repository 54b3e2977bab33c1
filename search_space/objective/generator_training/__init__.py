"""How a generator is trained: the options; their modules are in `tasks/objectives/generator_training`."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.objective.generator_training.option import GeneratorTrainingOption
from search_space.shape import linear_parameters
from steeplechase.foundation.schema import OPTION, Count, JsonValue

GeneratorTraining = Annotated[GeneratorTrainingOption, OPTION]


class Joint(GeneratorTrainingOption):
    """Every update trains the generator by masked language modelling and the encoder by its own loss.

    ELECTRA: Clark et al. 2020, arXiv 2003.10555.
    """

    kind: Literal["joint"] = "joint"
    """Chooses joint training."""


class TwoStage(GeneratorTrainingOption):
    """The generator is trained alone; then the encoder starts from its weights, and the generator is frozen.

    The costs in closed form are those of joint training: both models at every update.

    Clark et al. 2020 (ELECTRA).
    """

    needs_equal_sizes: ClassVar[bool] = True
    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({"generator_tokens": 1000},)

    kind: Literal["two_stage"] = "two_stage"
    """Chooses training in two stages."""
    generator_tokens: Count = Field(examples=[500_000])
    """Training tokens of the generator alone, multiplied by the arm's `token_share`; the rest trains the encoder."""

    @property
    def tokens_before_encoder(self) -> int:
        """The tokens of the first stage."""
        return self.generator_tokens


class Adversarial(GeneratorTrainingOption):
    """The reward of a sampled token is the discriminator's loss there, minus a baseline of the generator's vector.

    Clark et al. 2020 (ELECTRA). Samples have no gradient, so that the generator is trained by policy gradients
    (REINFORCE, Williams 1992) with a learned baseline.
    """

    needs_discriminator: ClassVar[bool] = True

    kind: Literal["adversarial"] = "adversarial"
    """Chooses adversarial training of the generator, in place of masked language modelling."""

    def added_parts(self, generator: Architecture) -> tuple[Component, ...]:
        """Return the value head, which predicts the reward of every masked token."""
        parameters = linear_parameters(generator.width, 1)
        operations = linear(generator.width, 1) + Operations(sigmoids=1)
        return (Component(Role.VALUE, generator.attention_shape, parameters, operations, applied_to="prediction"),)
