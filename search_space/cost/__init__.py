"""FLOP accounting: operation counts per component, and one file per convention that turns counts into FLOPs.

A component declares its counts by kind (`Operations`); a convention declares the FLOPs of each kind. Every convention
thus covers a new option, and a new convention covers every option.
"""

from search_space.cost import electra, electra_corrected, matmul
from search_space.cost.component import Applied, Component, Role
from search_space.cost.flop_convention import Convention
from search_space.cost.operation_counts import Operations, linear

MATMUL = matmul.CONVENTION
CONVENTIONS = {
    convention.name: convention for convention in (MATMUL, electra.CONVENTION, electra_corrected.CONVENTION)
}

__all__ = ["CONVENTIONS", "MATMUL", "Applied", "Component", "Convention", "Operations", "Role", "linear"]
