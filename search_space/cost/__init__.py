"""FLOP accounting: operation counts per component, and the conventions that turn counts into FLOPs.

A component declares its counts by kind (`Operations`); a convention declares the FLOPs of each kind. Every convention
thus covers a new option, and a new convention covers every option.
"""

from search_space.cost.component import Applied, Component, Role
from search_space.cost.flop_convention import CONVENTIONS, MATMUL, Convention
from search_space.cost.operation_counts import Operations, linear

__all__ = ["CONVENTIONS", "MATMUL", "Applied", "Component", "Convention", "Operations", "Role", "linear"]
