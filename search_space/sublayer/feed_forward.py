"""The feed-forward network, optionally grouped. Vaswani et al. 2017, 1706.03762; ConvBERT, 2008.02496, eq. 8."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from search_space.activation import Activation, activation_operations
from search_space.cost import Component, Operations, Role, linear
from search_space.shape import NORMALISATION_STATISTICS, AttentionShape, layer_norm_parameters, linear_parameters


@dataclass(frozen=True)
class FeedForward:
    """Up, activation, down; both maps have the same number of groups."""

    kind: ClassVar[str] = "feed_forward"
    width: int
    inner_width: int
    groups: int = 1
    activation: Activation = "gelu"
    middle_norm: bool = False
    """Whether the inner channels are normalised before the second map (the code of the Evolved Transformer)."""

    @property
    def widening(self) -> int:
        """Tokens that it adds to the receptive field of convolutions: none."""
        return 0

    def __str__(self) -> str:
        """Return the sizes in words."""
        groups = f", {self.groups} groups" if self.groups > 1 else ""
        return f"feed-forward {self.width} -> {self.inner_width} -> {self.width}{groups}, {self.activation}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the network as one component."""
        width, inner, groups = self.width, self.inner_width, self.groups
        parameters = linear_parameters(width, inner, groups) + linear_parameters(inner, width, groups)
        operations = linear(width, inner, groups) + linear(inner, width, groups)
        operations += activation_operations(self.activation, inner) + Operations(additions=width, dropped=width)
        # a rectifier's gradient needs its output alone, which the second map saves too
        saved = width + (inner if self.activation == "relu" else 2 * inner)
        if self.middle_norm:
            parameters += layer_norm_parameters(inner)
            operations += Operations(normalised=inner)
            saved += inner + NORMALISATION_STATISTICS
        yield Component(Role.FEED_FORWARD, AttentionShape(width, 0, 0), parameters, operations, saved)

    def mistakes(self) -> Iterator[str]:
        """Yield the widths that the groups do not divide."""
        for name, size in (("the model's width", self.width), ("width", self.inner_width)):
            if size % self.groups:
                yield f"groups {self.groups} does not divide {name} {size}"
        if self.middle_norm and self.groups > 1:
            yield f"middle_norm is not defined for {self.groups} groups, only for 1"
