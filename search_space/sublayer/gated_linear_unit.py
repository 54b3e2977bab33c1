"""The gated linear unit: a linear map times the sigmoid of another. Dauphin et al. 2017, arXiv 1612.08083."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from search_space.cost import Component, Operations, Role, linear
from search_space.layer_program import Setting, SublayerKind
from search_space.shape import AttentionShape, linear_parameters
from search_space.sublayer.sublayer import LetteredSublayer, StackSizes, refuse_unknown


@dataclass(frozen=True)
class GatedLinearUnit(LetteredSublayer):
    """Two maps of the width; the second, through a sigmoid, is the gate of the first."""

    kind: ClassVar[str] = "gated_linear_unit"
    letter: ClassVar[str] = SublayerKind.GATED_LINEAR_UNIT
    positionwise: ClassVar[bool] = True
    width: int

    @classmethod
    def of(cls, settings: Mapping[str, Setting], sizes: StackSizes) -> Self:
        """Return the sublayer; it has no settings. Raises InvalidSetting."""
        refuse_unknown(cls.letter, settings, ())
        return cls(sizes.width)

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
