"""How operations are counted: the amounts that every convention prices, and one file per convention.

A part of a model says what it does (`Operations`); a convention says what each kind costs. A new option is then
counted by every convention, and a new convention counts every option.
"""

from search_space.cost import electra, electra_corrected, matmul
from search_space.cost.component import Component, Role
from search_space.cost.flop_convention import Convention
from search_space.cost.operation_counts import Operations, linear

MATMUL = matmul.CONVENTION
CONVENTIONS = {each.name: each for each in (MATMUL, electra.CONVENTION, electra_corrected.CONVENTION)}

__all__ = ["CONVENTIONS", "MATMUL", "Component", "Convention", "Operations", "Role", "linear"]
