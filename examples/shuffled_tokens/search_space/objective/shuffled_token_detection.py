"""Shuffled token detection: which tokens of the input were moved? Yamaguchi et al. 2021, arXiv 2109.01819."""

from typing import Literal

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.shape import linear_parameters
from steeplechase.foundation.schema import Share


class ShuffledTokenDetection(PretrainingObjective):
    """Some tokens of a sequence are permuted; the encoder classifies every token as moved or not."""

    kind: Literal["shuffled_token_detection"] = "shuffled_token_detection"
    """Chooses the detection of shuffled tokens."""
    shuffle_rate: Share = 0.15
    """Share of the tokens that are permuted among themselves. Ours: that of masked language modelling."""

    def predictions(self, length: int) -> int:
        """Return 0: no token enters an output softmax."""
        return 0

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return a map to one logit per token; no operation counts for its bias."""
        operations = Operations(multiply_adds=architecture.width)
        parameters = linear_parameters(architecture.width, 1)
        return (Component(Role.DISCRIMINATOR, architecture.attention_shape, parameters, operations),)
