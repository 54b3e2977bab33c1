"""Orders of the baseline's sublayers: as many of each as it has. Press et al. 2020, arXiv 1911.03864.

Every order has the same parameters. Self-attention with the cross-attention that follows it is one unit.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from search_space.architecture import Architecture
from search_space.layer_program import Item, LayerProgram, SublayerKind, is_of
from search_space.program_parser import parse_program
from search_space.structure.option import Choose, Genome, StackName, StructureOption, chosen_from, noted, program_of
from steeplechase.foundation.schema import JsonValue


class SublayerOrder(StructureOption):
    """All orders, or those of Sandwich Transformers."""

    kind: Literal["sublayer_order"] = "sublayer_order"
    """Chooses orders of the baseline's sublayers."""
    orders: Literal["all", "sandwich"] = "all"
    """`all`: every order of the sublayers; `sandwich`: s^k (s f)^(n-k) f^k with k from 0 to n - 1."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"orders": "sandwich"})
    owned_sizes: ClassVar[tuple[str, ...]] = ()

    def genes(self, baseline: Architecture, stack: StackName) -> Mapping[str, tuple[str, ...]]:
        """Return a gene per position, or the coefficient."""
        units = _units(program_of(baseline, stack))
        if self.orders == "sandwich":
            return {"coefficient": tuple(map(str, range(len(units) // 2)))}
        kinds = tuple(dict.fromkeys(units))
        return {str(position): kinds for position in range(1, len(units))}

    def program(self, baseline: Architecture, stack: StackName, choose: Choose) -> LayerProgram:
        """Return the sublayers in the chosen order; a unit that is used up is replaced by the first that is not."""
        units, genes = _units(program_of(baseline, stack)), self.genes(baseline, stack)
        if self.orders == "sandwich":
            coefficient = int(choose("coefficient", genes["coefficient"]))
            first, second = _pair(units)
            turns = len(units) // 2 - coefficient
            return _program([*[first] * coefficient, *[first, second] * turns, *[second] * coefficient])
        left, found = Counter(units), list[str]()
        while left:
            gene = str(len(found) + 1)
            unit = next(iter(left)) if len(left) == 1 else choose(gene, genes[gene])
            unit = unit if left[unit] else next(iter(+left))
            found.append(unit)
            left = +(left - Counter([unit]))
        return _program(found)

    def genome(self, architecture: Architecture, stack: StackName) -> Genome | None:
        """Return the order of the architecture's own sublayers."""
        program, genes = program_of(architecture, stack), self.genes(architecture, stack)
        if self.orders == "all":
            asked = dict[str, str]()
            self.program(architecture, stack, noted(dict(zip(genes, _units(program), strict=False)), asked))
            return asked
        if [*self._unlike(program)]:
            return None
        found = ({"coefficient": coefficient} for coefficient in genes["coefficient"])
        return next((each for each in found if self._gives(architecture, stack, each)), None)

    def _gives(self, architecture: Architecture, stack: StackName, genome: Genome) -> bool:
        return self.program(architecture, stack, chosen_from(genome)) == program_of(architecture, stack)

    def mistakes(self, baseline: Architecture, stack: StackName) -> Iterator[str]:
        """Yield a program without two kinds of sublayers, or one that is no sandwich."""
        program = program_of(baseline, stack)
        if len({*_units(program)}) < 2:
            yield f"{program} has sublayers of one kind alone, which have one order"
        elif self.orders == "sandwich":
            yield from self._unlike(program)

    def _unlike(self, program: LayerProgram) -> Iterator[str]:
        counts = Counter(_units(program))
        if len(counts) != 2 or len({*counts.values()}) != 1:
            yield f"{program} is no sandwich: it needs equally many sublayers of two kinds, as (s f)*6 has"


def _units(program: LayerProgram) -> list[str]:
    """Return the sublayers as texts; self-attention and the cross-attention after it are one."""
    found: list[str] = []
    before: Item | None = None
    for item in program.items:
        joined = before is not None and is_of(before, SublayerKind.SELF_ATTENTION)
        if joined and is_of(item, SublayerKind.CROSS_ATTENTION):
            found[-1] += f" {item}"
        else:
            found.append(str(item))
        before = item
    return found


def _pair(units: list[str]) -> tuple[str, str]:
    first, second = sorted({*units}, key=lambda unit: not unit.startswith(SublayerKind.SELF_ATTENTION))
    return first, second


def _program(units: list[str]) -> LayerProgram:
    return parse_program(" ".join(units))
