"""What every option of generator training has: its requirements and the components that it adds."""

from typing import ClassVar

from search_space.architecture import Architecture
from search_space.cost import Component
from steeplechase.foundation.schema import OpenOption


class GeneratorTrainingOption(OpenOption):
    """An option that decides which losses train the generator and the encoder, and when."""

    package: ClassVar[str] = "search_space.objective.generator_training"
    modules: ClassVar[str] = "steeplechase.tasks.objectives.generator_training"
    entry: ClassVar[str] = "Training"
    needs_equal_sizes: ClassVar[bool] = False
    """Whether the encoder starts from the generator's weights, so that both have the same sizes and share none."""
    needs_discriminator: ClassVar[bool] = False
    """Whether the generator is trained by the loss of a discriminator."""

    @property
    def tokens_before_encoder(self) -> int:
        """Training tokens before the first update of the encoder."""
        return 0

    def added_parts(self, generator: Architecture) -> tuple[Component, ...]:
        """Return the components that the training adds to the generator; by default none."""
        return ()
