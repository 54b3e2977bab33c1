"""How operations are counted: the amounts that every convention prices, and one file per convention.

A part of a model says what it does (`Operations`); a convention says what each kind costs. A new option is then
counted by every convention, and a new convention counts every option.
"""

from search_space.operations import electra, electra_corrected, matmul
from search_space.operations.amounts import Operations, linear
from search_space.operations.convention import Convention
from search_space.operations.part import Part, Role

MATMUL = matmul.CONVENTION
CONVENTIONS = {each.name: each for each in (MATMUL, electra.CONVENTION, electra_corrected.CONVENTION)}

__all__ = ["CONVENTIONS", "MATMUL", "Convention", "Operations", "Part", "Role", "linear"]
