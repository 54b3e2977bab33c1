"""Cells of blocks with two branches, repeated: the search space of the Evolved Transformer, over layer programs.

So et al. 2019, arXiv 1901.11117, section 3.1: a cell is a list of blocks, a block has two branches, each with a
layer, a relative output dimension and an activation; a stack repeats its cell. Here a block reads the one before it
and has its own norm and residual, and its branches are added; the paper's may read any earlier one, and combine
by concatenation and product too. The lists of layers, widths and activations are this project's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from search_space.activation import Activation
from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.layer_program import LayerProgram, SublayerKind
from search_space.structure.block import BlockCoding, coding_of, layer_mistake
from search_space.structure.option import Choose, Genome, StackName, StructureOption, noted, program_of
from steeplechase.foundation.schema import Count

ENCODER_LAYERS = ("s", "g", "f", "lin", "conv:3", "sep:3", "sep:5", "sep:7", "sep:9", "sep:11")


@dataclass(frozen=True)
class _Prefixed:
    """A choice of the genes of one block."""

    choose: Choose
    block: int

    def __call__(self, gene: str, values: tuple[str, ...]) -> str:
        return self.choose(f"{self.block}.{gene}", values)


class Cells(StructureOption):
    """The layers, widths and activations of the branches, and how many blocks and cells there are."""

    kind: Literal["cells"] = "cells"
    """Chooses cells of blocks with two branches."""
    blocks: Annotated[int, Field(ge=1, le=32)] = 4
    """Largest number of blocks in a cell; the paper has 6 in the encoder's and 8 in the decoder's."""
    cells: tuple[Count, ...] = Field(default=(1, 2, 3), min_length=1)
    """Numbers of cells in the stack."""
    layers: tuple[str, ...] = Field(default=ENCODER_LAYERS, min_length=1)
    """Layers of a branch: s, c, g, f, or an operation with its kernel size: lin, conv:3, sep:7."""
    heads: tuple[Count, ...] = ()
    """Numbers of heads of an attention. Empty: the baseline's."""
    widths: tuple[float, ...] = Field(default=(0.5, 1.0, 2.0, 4.0), min_length=1)
    """Output channels of f's first map and of operations, as multiples of the model's width."""
    activations: tuple[Activation, ...] = Field(default=("relu", "swish"), min_length=1)
    """Activations; an operation may have none."""

    owned_sizes: ClassVar[tuple[str, ...]] = (
        *("width", "heads", "key_width", "value_width"),
        *("feed_forward_width", "feed_forward_groups", "feed_forward_activation"),
    )

    @field_validator("layers")
    @classmethod
    def _known_layers(cls, layers: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [mistake for layer in layers if (mistake := layer_mistake(layer))]
        if wrong:
            raise ValueError("; ".join(wrong))
        return tuple(dict.fromkeys(layers))

    def genes(self, baseline: Architecture, stack: StackName) -> Mapping[str, tuple[str, ...]]:
        """Return the numbers of cells and blocks, then the genes of every block."""
        of_block = self._coding(baseline).genes
        return {
            "cells": tuple(map(str, sorted({*self.cells}))),
            "blocks": tuple(map(str, range(1, self.blocks + 1))),
            **{f"{block}.{gene}": values for block in range(1, self.blocks + 1) for gene, values in of_block.items()},
        }

    def program(self, baseline: Architecture, stack: StackName, choose: Choose) -> LayerProgram:
        """Return the cell's blocks, as often as there are cells."""
        coding, genes = self._coding(baseline), self.genes(baseline, stack)
        cells, blocks = (int(choose(name, genes[name])) for name in ("cells", "blocks"))
        cell = tuple(coding.item(_Prefixed(choose, block)) for block in range(1, blocks + 1))
        return LayerProgram(cell * cells)

    def genome(self, architecture: Architecture, stack: StackName) -> Genome | None:
        """Return the genes of the program's shortest cell, None if it is no repeated cell of the space."""
        items, coding = program_of(architecture, stack).items, self._coding(architecture)
        for cells in sorted({*self.cells}, reverse=True):
            blocks = len(items) // cells
            cell = items[:blocks]
            if not 1 <= blocks <= self.blocks or cell * cells != items:
                continue
            found = [coding.genes_of(item) for item in cell]
            genes = {
                f"{block}.{gene}": value for block, of in enumerate(found, 1) for gene, value in (of or {}).items()
            }
            genes |= {"cells": str(cells), "blocks": str(blocks)}
            if None not in found:
                asked = dict[str, str]()
                self.program(architecture, stack, noted(genes, asked))
                return asked
        return None

    def mistakes(self, baseline: Architecture, stack: StackName) -> Iterator[str]:
        """Yield widths without whole channels, heads that do not divide the width, and layers of other stacks."""
        for width in self.widths:
            if (baseline.width * width) % 1 or baseline.width * width < 1:
                yield f"width {width:g} has {baseline.width * width:g} channels at width {baseline.width}"
        for heads in self.heads:
            if baseline.width % heads:
                yield f"heads {heads} does not divide the width {baseline.width}"
        decodes = stack == "decoder_layers"
        if SublayerKind.CROSS_ATTENTION in self.layers and not decodes:
            yield "c is cross-attention, which only decoder_layers has"
        if decodes and isinstance(baseline, EncoderDecoderArchitecture) and "c" not in self.layers:
            yield "a decoder needs the layer c; without it no program reads the source"
        coding = self._coding(baseline)
        if coding.operations and not coding.then_widths:
            yield "no width is at most 1, so that no chain of operations can end at the model's width"

    def _coding(self, baseline: Architecture) -> BlockCoding:
        return coding_of(baseline, self.layers, self.heads, self.widths, self.activations)
