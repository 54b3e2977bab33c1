"""What the timed part of an architecture needs, in closed form: known before anything is timed."""

from configuration.timing.experiment import Part
from search_space.architecture import Architecture
from search_space.cost import MATMUL, Component, Convention, Role

ATTENTION = (Role.ATTENTION_MAPS, Role.ATTENTION_SCORES, Role.CONVOLUTION, Role.OUTPUT_MAP)


def part_flops(architecture: Architecture, part: Part, length: int, convention: Convention = MATMUL) -> int:
    """Return the operations of one copy of the part on one sequence of `length` tokens."""
    return convention.flops(_counted(architecture, part, length), length)


def part_parameters(architecture: Architecture, part: Part) -> int:
    """Return the values of one copy of the part; the normalisation after attention belongs to the block."""
    return sum(counted.all_parameters for counted in _counted(architecture, part, 1))


def _counted(architecture: Architecture, part: Part, length: int) -> list[Component]:
    one = architecture.model_copy(update={"depth": 1}).block_parts(length)
    return [counted for counted in one if part == "block" or counted.role in ATTENTION]
