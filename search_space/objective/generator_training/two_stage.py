"""Two-stage training: the generator first, then the encoder from its weights. Clark et al. 2020 (ELECTRA)."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from search_space.objective.generator_training.option import GeneratorTrainingOption
from steeplechase.foundation.schema import Count, JsonValue


class TwoStage(GeneratorTrainingOption):
    """The generator is trained alone; then the encoder starts from its weights, and the generator is frozen.

    The costs in closed form are those of joint training: both models at every update.
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
