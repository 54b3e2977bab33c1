"""The gated linear unit: a linear map times the sigmoid of another. Dauphin et al. 2017, arXiv 1612.08083."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from search_space.cost import Component, Operations, Role, linear
from search_space.shape import AttentionShape, linear_parameters


@dataclass(frozen=True)
class GatedLinearUnit:
    """Two maps of the width; the second, through a sigmoid, is the gate of the first."""

    kind: ClassVar[str] = "gated_linear_unit"
    width: int

    @property
    def widening(self) -> int:
        """Tokens that it adds to the receptive field of convolutions: none."""
        return 0

    def __str__(self) -> str:
        """Return the sizes in words."""
        return f"gated linear unit of {self.width}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the unit as one component."""
        width = self.width
        operations = linear(width, 2 * width)
        operations += Operations(sigmoids=width, products=width, additions=width, dropped=width)
        parameters = linear_parameters(width, 2 * width)
        shape = AttentionShape(width, 0, 0)
        yield Component(Role.GATED_LINEAR_UNIT, shape, parameters, operations, 3 * width)

    def mistakes(self) -> Iterator[str]:
        """Yield nothing: every width is allowed."""
        yield from ()
