"""Contracts of a space of layer programs: what a search relies on. They hold for plugins too."""

import random
from collections.abc import Callable, Iterator, Mapping

from search_space.architecture import Architecture
from search_space.layer_program import LayerProgram
from search_space.program_parser import parse_program
from search_space.structure import StructureOption
from search_space.structure.option import Genome, chosen_from, program_of
from steeplechase.models.contract import Broken, Outcome, outcomes_at_examples, outcomes_of, survives_json

BASELINE = Architecture.model_validate(
    {
        "layers": "(s f)*3",
        "width": 32,
        "embedding_width": 32,
        "heads": 4,
        "feed_forward_width": 128,
        "vocabulary_size": 100,
        "positions": 64,
    }
)
"""The architecture over whose sizes a space is checked."""
DRAWN, CHANGED = 200, 0.2
"""Programs, and the share of genes that a mutation draws anew."""


def structure_contracts(kind: type[StructureOption]) -> Iterator[Outcome]:
    """Return the outcome of every contract of a space at each of its examples."""
    return outcomes_at_examples(kind, _outcomes)


def _outcomes(space: StructureOption, title: str) -> Iterator[Outcome]:
    mistake = next(space.mistakes(BASELINE, "layers"), None)
    if mistake is not None:
        yield Outcome(title, "loaded", skipped=f"not over the contracts' baseline: {mistake}")
    else:
        yield from outcomes_of(CONTRACTS, space, title)


def genes_have_distinct_values(space: StructureOption) -> None:
    """Check that every gene has values, each once."""
    genes = space.genes(BASELINE, "layers")
    wrong = [gene for gene, values in genes.items() if not values or len({*values}) < len(values)]
    if wrong or not genes:
        raise Broken(f"genes without values, or with one twice: {', '.join(wrong)}" if wrong else "no genes")


def mutants_are_programs(space: StructureOption) -> None:
    """Mutate a genome again and again: each gives a program that its own text gives, from listed values alone."""
    genes = space.genes(BASELINE, "layers")
    generator, genome, programs = random.Random(1), dict[str, str](), set[str]()
    for _ in range(DRAWN):
        program, genome = _mutant(space, genome, generator)
        if parse_program(str(program)) != program:
            raise Broken(f"the program {program} is another when it is read again: {parse_program(str(program))}")
        foreign = {gene: value for gene, value in genome.items() if value not in genes.get(gene, ())}
        if foreign:
            raise Broken(f"values that genes() does not list: {foreign}")
        if space.program(BASELINE, "layers", chosen_from(genome)) != program:
            raise Broken(f"one genome gives two programs: {genome}")
        programs.add(str(program))
    if len(programs) < 2:
        raise Broken(f"{DRAWN} mutants are one program, {programs.pop()}")


def programs_have_genomes(space: StructureOption) -> None:
    """Check that `genome` of an architecture with a drawn program gives this program."""
    generator, read = random.Random(2), 0
    for _ in range(DRAWN):
        program, _ = _mutant(space, {}, generator)
        architecture = Architecture.model_validate({**BASELINE.model_dump(), "layers": str(program)})
        if [*architecture.violations()]:
            continue
        genome = space.genome(architecture, "layers")
        if genome is None:
            raise Broken(f"genome() of the program {program} of the space is None")
        given = space.program(architecture, "layers", chosen_from(genome))
        if given != program_of(architecture, "layers"):
            raise Broken(f"the genome of {program} gives {given}")
        read += 1
    if not read:
        raise Broken(f"none of {DRAWN} programs can be built")


CONTRACTS: Mapping[str, Callable[[StructureOption], None]] = {
    "the declaration survives JSON": survives_json,
    "genes have distinct values": genes_have_distinct_values,
    "mutants are programs": mutants_are_programs,
    "programs have genomes": programs_have_genomes,
}
"""By name."""


def _mutant(space: StructureOption, parent: Genome, generator: random.Random) -> tuple[LayerProgram, dict[str, str]]:
    """Return a program and the genes that were asked for; genes that the parent does not have are drawn."""
    asked = dict[str, str]()

    def choose(gene: str, values: tuple[str, ...]) -> str:
        if gene not in asked:
            kept = gene in parent and generator.random() >= CHANGED
            asked[gene] = parent[gene] if kept else generator.choice(values)
        return asked[gene]

    return space.program(BASELINE, "layers", choose), asked
