"""Two sublayers on the same input, added under one residual (the decoder cell of the Evolved Transformer)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from search_space.cost import Component
from search_space.sublayer.sublayer import SublayerDeclaration


@dataclass(frozen=True)
class ParallelSublayers(SublayerDeclaration):
    """The sum of two sublayers' outputs."""

    kind: ClassVar[str] = "parallel"
    width: int
    first: SublayerDeclaration
    second: SublayerDeclaration

    @property
    def copies_input(self) -> bool:
        """Whether both save copies of the input alone."""
        return self.first.copies_input and self.second.copies_input

    @property
    def widening(self) -> int:
        """Tokens that the wider branch adds to the receptive field of convolutions."""
        return max(self.first.widening, self.second.widening)

    def __str__(self) -> str:
        """Return the sizes in words."""
        return f"{self.first} beside {self.second}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the components of both; the sum is counted as the second's residual, an input that both save once."""
        yield from self.first.components(length)
        shared = 0 if self.first.copies_input or self.second.copies_input else self.width
        for part in self.second.components(length):
            yield replace(part, saved_activations=part.saved_activations - shared)
            shared = 0

    def mistakes(self) -> Iterator[str]:
        """Yield what both break."""
        yield from self.first.mistakes()
        yield from self.second.mistakes()
