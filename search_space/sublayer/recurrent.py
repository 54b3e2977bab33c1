"""A recurrent layer: an LSTM over the tokens. Hochreiter and Schmidhuber 1997; GPT's recurrent row (Radford 2018)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from search_space.cost import Component, Operations, Role, linear
from search_space.layer_program import Setting, SublayerKind
from search_space.shape import AttentionShape, linear_parameters
from search_space.sublayer.sublayer import LetteredSublayer, StackSizes, refuse_unknown, whole_number
from search_space.visibility import Visibility

GATES = 4


@dataclass(frozen=True)
class Recurrent(LetteredSublayer):
    """An LSTM in each direction that is visible, then a linear map to the width where theirs differs."""

    kind: ClassVar[str] = "recurrent"
    letter: ClassVar[str] = SublayerKind.RECURRENT
    measurable: ClassVar[bool] = False
    examples: ClassVar[tuple[Mapping[str, Setting], ...]] = ({}, {"hidden_width": 12})
    width: int
    hidden_width: int
    """Channels of the state of one direction."""
    visibility: Visibility = "bidirectional"

    @classmethod
    def of(cls, settings: Mapping[str, Setting], sizes: StackSizes) -> Self:
        """Return the sublayer with a program's settings. Raises InvalidSetting."""
        refuse_unknown(cls.letter, settings, ("hidden_width",))
        return cls(sizes.width, whole_number(settings, "hidden_width", sizes.width), sizes.visibility)

    @property
    def directions(self) -> int:
        """2 where all tokens are visible, else 1."""
        return 2 if self.visibility == "bidirectional" else 1

    @property
    def output_width(self) -> int:
        """Channels of the states of all directions."""
        return self.directions * self.hidden_width

    def __str__(self) -> str:
        """Return the sizes in words."""
        directions = "both directions" if self.directions == 2 else "one direction"
        return f"LSTM of {self.hidden_width}, {directions}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the recurrent layer with its output map as one component."""
        width, hidden, output = self.width, self.hidden_width, self.output_width
        gates = GATES * hidden
        parameters = self.directions * (gates * (width + hidden) + 2 * gates)  # torch has two bias vectors
        operations = Operations(
            multiply_adds=self.directions * gates * (width + hidden),
            additions=self.directions * (2 * gates + hidden) + width,
            sigmoids=self.directions * 5 * hidden,  # three gates, two hyperbolic tangents
            products=self.directions * 3 * hidden,
            dropped=width,
        )
        saved = width + self.directions * (gates + 2 * hidden)  # input; gates, cell and output
        if output != width:
            parameters += linear_parameters(output, width)
            operations += linear(output, width)
        yield Component(Role.RECURRENT, AttentionShape(width, 0, 0), parameters, operations, saved)
