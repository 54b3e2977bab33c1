"""Token shift: a gated map of a token and its visible neighbours. RWKV (Peng et al. 2023, arXiv 2305.13048, 3.1).

RWKV mixes a token with the one before it; here, where all tokens are visible, with the one behind it too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from search_space.cost import Component, Operations, Role, linear
from search_space.layer_program import Setting
from search_space.shape import AttentionShape, linear_parameters
from search_space.sublayer.sublayer import LetteredSublayer, StackSizes, refuse_unknown, whole_number
from search_space.visibility import VISIBLE_SIDE, VisibleSide


@dataclass(frozen=True)
class TokenShift(LetteredSublayer):
    """One map of a token beside its neighbours to values and gates, and one back to the width."""

    kind: ClassVar[str] = "token_shift"
    letter: ClassVar[str] = "shift"
    examples: ClassVar[tuple[Mapping[str, Setting], ...]] = ({}, {"inner_width": 40})
    width: int
    inner_width: int
    """Channels of the values."""
    side: VisibleSide
    """The side of the neighbours."""

    @classmethod
    def of(cls, settings: Mapping[str, Setting], sizes: StackSizes) -> Self:
        """Return the sublayer with a program's settings. Raises InvalidSetting."""
        refuse_unknown(cls.letter, settings, ("inner_width",))
        inner_width = whole_number(settings, "inner_width", sizes.width)
        return cls(sizes.width, inner_width, VISIBLE_SIDE[sizes.visibility])

    @property
    def neighbours(self) -> int:
        """Tokens that a token is mixed with."""
        return 2 if self.side == "both" else 1

    @property
    def widening(self) -> int:
        """Tokens that it adds to the receptive field."""
        return self.neighbours

    def __str__(self) -> str:
        """Return the sizes in words."""
        return f"token shift of {self.neighbours}, {self.width} -> {self.inner_width} -> {self.width}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the sublayer as one component."""
        read, inner = (1 + self.neighbours) * self.width, self.inner_width
        operations = linear(read, 2 * inner) + linear(inner, self.width)
        operations += Operations(sigmoids=inner, products=inner, additions=self.width, dropped=self.width)
        parameters = linear_parameters(read, 2 * inner) + linear_parameters(inner, self.width)
        saved = read + 3 * inner  # the tokens side by side; values, gates, and their products
        yield Component(Role.SUBLAYER, AttentionShape(self.width, 0, 0), parameters, operations, saved)
