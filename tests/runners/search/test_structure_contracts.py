"""Every space of layer programs keeps the contracts; a wrong one breaks those it is wrong in."""

import pytest

from commands.plugin_contracts import OF_AXES
from foundation.schema import OpenOption, options_of
from models.contract import outcomes_of
from runners.search.structure_contracts import CONTRACTS, structure_contracts
from search_space.architecture import Architecture
from search_space.layer_program import LayerProgram
from search_space.program_parser import parse_program
from search_space.structure import StructureOption, SublayerOrder
from search_space.structure.option import Choose, Genome, StackName


def axes(above: type[OpenOption] = OpenOption) -> list[type[OpenOption]]:
    below = above.__subclasses__()
    return [*(each for each in below if "package" in vars(each)), *(axis for each in below for axis in axes(each))]


def test_every_open_axis_has_contracts() -> None:
    assert len(axes()) > 10
    assert [axis for axis in axes() if not any(each in OF_AXES for each in axis.__mro__)] == []


@pytest.mark.parametrize("kind", options_of(StructureOption), ids=lambda kind: kind.model_fields["kind"].default)
def test_every_space_keeps_every_contract(kind: type[StructureOption]) -> None:
    outcomes = [*structure_contracts(kind)]
    assert len(outcomes) == len(kind.examples) * len(CONTRACTS)
    assert [each for each in outcomes if each.problem or each.skipped] == []


class TwiceTheSame(SublayerOrder):
    """A gene has one value twice."""

    def genes(self, baseline: Architecture, stack: StackName) -> dict[str, tuple[str, ...]]:
        return {**super().genes(baseline, stack), "1": ("s", "s")}


class UnlistedGene(SublayerOrder):
    """It asks for a gene that it does not list."""

    def program(self, baseline: Architecture, stack: StackName, choose: Choose) -> LayerProgram:
        choose("0", ("s",))
        return super().program(baseline, stack, choose)


class OneProgram(SublayerOrder):
    """Whatever is chosen, the program is the same."""

    def program(self, baseline: Architecture, stack: StackName, choose: Choose) -> LayerProgram:
        return parse_program("s f")


class NoGenome(SublayerOrder):
    """It does not know its own programs."""

    def genome(self, architecture: Architecture, stack: StackName) -> Genome | None:
        return None


@pytest.mark.parametrize(
    ("space", "contract"),
    [
        (TwiceTheSame(), "genes have distinct values"),
        (UnlistedGene(), "mutants are programs"),
        (OneProgram(), "mutants are programs"),
        (NoGenome(), "programs have genomes"),
    ],
)
def test_a_wrong_space_breaks_the_contract_that_is_about_it(space: StructureOption, contract: str) -> None:
    broken = {each.contract for each in outcomes_of(CONTRACTS, space, "wrong") if each.problem}
    assert contract in broken
