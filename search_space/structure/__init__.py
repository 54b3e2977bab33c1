"""Spaces of layer programs for a search: one file per space. A program is described by genes, each with few values.

A search draws, mutates and models genes; a candidate has the program that they give, and nothing of the genes. Genes
that give one program are thus one candidate, with one set of stage keys.
"""

from typing import Annotated

from search_space.structure.cells import Cells
from search_space.structure.option import Choose, StructureOption
from search_space.structure.sublayer_order import SublayerOrder
from steeplechase.foundation.schema import OPTION

Structure = Annotated[StructureOption, OPTION]

__all__ = ["Cells", "Choose", "Structure", "StructureOption", "SublayerOrder"]
