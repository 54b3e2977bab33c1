"""What every output layer has: its costs in closed form, and what it needs of the architecture."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from search_space.architecture import Architecture
from search_space.cost import Component
from steeplechase.foundation.schema import OpenOption


class OutputLayerOption(OpenOption):
    """From the vectors that predict to probabilities of the tokens; its table is the embedding table."""

    package: ClassVar[str] = "search_space.output_layer"
    modules: ClassVar[str] = "steeplechase.models.output_layer"
    entry: ClassVar[str] = "build"

    @abstractmethod
    def component(self, architecture: Architecture) -> Component:
        """Return its parameters without the embedding table, and its operations per prediction."""

    def mistakes(self, architecture: Architecture) -> Iterator[str]:
        """Yield what the architecture lacks for it."""
        yield from ()


def own_map_missing(architecture: Architecture) -> Iterator[str]:
    """Yield that the table has another width than the hidden states, which no map brings together."""
    width, table = architecture.width, architecture.embedding_width
    if width != table:
        yield f"needs embedding_width equal to width, and they are {table} and {width}. Did you mean transformed?"
