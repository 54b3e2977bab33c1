"""What every space of layer programs has: its genes, the program of a genome, and the genome of a program."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Literal

from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.layer_program import LayerProgram
from steeplechase.foundation.schema import OpenOption

StackName = Literal["layers", "decoder_layers"]
"""The fields that are layer programs."""
Choose = Callable[[str, tuple[str, ...]], str]
"""Returns the value of a gene, given its name and its possible values."""
Genome = Mapping[str, str]


class StructureOption(OpenOption):
    """A space of layer programs over the sizes of a baseline."""

    package: ClassVar[str] = "search_space.structure"
    owned_sizes: ClassVar[tuple[str, ...]]
    """Fields of the architecture that the genes refer to; no axis varies them beside."""

    @abstractmethod
    def genes(self, baseline: Architecture, stack: StackName) -> Mapping[str, tuple[str, ...]]:
        """Return the possible values of every gene, in the order in which they are chosen."""

    @abstractmethod
    def program(self, baseline: Architecture, stack: StackName, choose: Choose) -> LayerProgram:
        """Return the program of the chosen values; only genes that have an effect are asked for.

        Every combination of values gives a program.
        """

    @abstractmethod
    def genome(self, architecture: Architecture, stack: StackName) -> Genome | None:
        """Return the values of the genes that give the architecture's program, None if the space does not have it."""

    @abstractmethod
    def mistakes(self, baseline: Architecture, stack: StackName) -> Iterator[str]:
        """Yield why the space has no programs over the sizes of the baseline."""


def program_of(architecture: Architecture, stack: StackName) -> LayerProgram:
    """Return the program of a stack; requires that the architecture has it."""
    if stack == "layers":
        return architecture.program
    assert isinstance(architecture, EncoderDecoderArchitecture)
    return architecture.decoder_program


def chosen_from(genome: Genome) -> Choose:
    """Return the choice of a genome's values."""
    return lambda gene, values: genome[gene]


def noted(genome: Genome, asked: dict[str, str]) -> Choose:
    """Return the choice of a genome's values, which adds those that are asked for to `asked`."""

    def choose(gene: str, values: tuple[str, ...]) -> str:
        asked[gene] = genome[gene]
        return genome[gene]

    return choose
