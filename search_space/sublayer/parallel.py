"""Two sublayers on the same input, added under one residual (the decoder cell of the Evolved Transformer)."""

from collections.abc import Iterator
from dataclasses import dataclass
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
    def widening(self) -> int:
        """Tokens that the wider branch adds to the receptive field of convolutions."""
        return max(self.first.widening, self.second.widening)

    def __str__(self) -> str:
        """Return the sizes in words."""
        return f"{self.first} beside {self.second}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the components of both; the sum is counted as the second's residual."""
        yield from self.first.components(length)
        yield from self.second.components(length)

    def mistakes(self) -> Iterator[str]:
        """Yield what both break."""
        yield from self.first.mistakes()
        yield from self.second.mistakes()
