"""Spaces of layer programs: every genome is a program, every program has its genome."""

import random
from collections import Counter

import pytest

from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.program_parser import sandwich
from search_space.released.models import PRESETS
from search_space.structure import Cells, Structure, StructureOption, SublayerOrder
from search_space.structure.option import Choose, StackName, chosen_from, program_of
from steeplechase.foundation.schema import options_of

ENCODER = Architecture.model_validate(
    {"layers": "(s f)*3", "width": 32, "embedding_width": 32, "heads": 4, "feed_forward_width": 128, "positions": 64,
     "feed_forward_activation": "relu", "vocabulary_size": 100}
)  # fmt: skip
DECODER = EncoderDecoderArchitecture.model_validate(
    {"kind": "encoder_decoder", "depth": 2, "decoder_layers": "(s c f)*2", "width": 32, "heads": 4,
     "feed_forward_width": 128, "feed_forward_activation": "relu", "vocabulary_size": 100, "positions": 64}
)  # fmt: skip
EVOLVED = ("s", "c", "g", "f", "lin", "conv:3", "sep:11", "sep:9", "sep:7")
SPACES: dict[str, tuple[StructureOption, Architecture, StackName]] = {
    "cells": (Cells(blocks=4, cells=(1, 2, 3)), ENCODER, "layers"),
    "cells_with_heads": (Cells(heads=(2, 4, 8), widths=(0.5, 1.0, 4.0)), ENCODER, "layers"),
    "decoder_cells": (Cells(layers=EVOLVED, heads=(4, 8), blocks=5), DECODER, "decoder_layers"),
    "orders": (SublayerOrder(), ENCODER, "layers"),
    "sandwich": (SublayerOrder(orders="sandwich"), ENCODER, "layers"),
    "decoder_orders": (SublayerOrder(), DECODER, "decoder_layers"),
}
every_space = pytest.mark.parametrize("name", SPACES)


def drawn(generator: random.Random) -> Choose:
    return lambda gene, values: generator.choice(values)


def with_program(architecture: Architecture, stack: StackName, text: str) -> Architecture:
    own = architecture.own_fields or tuple(type(architecture).model_fields)
    document = {name: value for name, value in architecture.model_dump().items() if name in own}
    return type(architecture).model_validate({**document, stack: text})


@every_space
def test_a_program_of_the_space_has_a_genome_that_gives_it(name: str) -> None:
    structure, baseline, stack = SPACES[name]
    generator, valid = random.Random(name), 0
    for _ in range(200):
        program = structure.program(baseline, stack, drawn(generator))
        try:
            architecture = with_program(baseline, stack, str(program))
        except ValueError:
            continue
        if [*architecture.violations()]:
            continue
        valid += 1
        assert program_of(architecture, stack) == program
        genome = structure.genome(architecture, stack)
        assert genome is not None
        assert structure.program(architecture, stack, chosen_from(genome)) == program
    assert valid >= 100


def test_every_structure_has_a_space_here() -> None:
    assert {type(structure) for structure, *_ in SPACES.values()} == {*options_of(StructureOption)}
    assert Structure is not None


@pytest.mark.parametrize("stack", ["layers", "decoder_layers"])
def test_the_evolved_transformer_and_the_transformer_are_points_of_one_space(stack: StackName) -> None:
    evolved = PRESETS["evolved-base"].candidate.architecture
    assert isinstance(evolved, EncoderDecoderArchitecture)
    layers = tuple(layer for layer in EVOLVED if layer != "c" or stack == "decoder_layers")
    structure = Cells(blocks=5, cells=(3, 4, 6), layers=layers, heads=(8, 16))
    for architecture in (
        evolved,
        with_program(with_program(evolved, "layers", "(s f)*6"), "decoder_layers", "(s c f)*6"),
    ):
        genome = structure.genome(architecture, stack)
        assert genome is not None
        assert structure.program(architecture, stack, chosen_from(genome)) == program_of(architecture, stack)


def test_a_sandwich_order_has_the_sublayers_of_its_baseline() -> None:
    structure, baseline, stack = SPACES["sandwich"]
    found = [structure.program(baseline, stack, chosen_from({"coefficient": str(k)})) for k in range(3)]
    assert found == [sandwich(3, k) for k in range(3)]
    generator = random.Random(1)
    for name in ("orders", "decoder_orders"):
        structure, baseline, stack = SPACES[name]
        wanted = Counter(map(str, program_of(baseline, stack).items))
        orders = {str(structure.program(baseline, stack, drawn(generator))) for _ in range(300)}
        assert all(Counter(order.split()) == wanted for order in orders)
        assert len(orders) == (20 if name == "orders" else 6)  # 6 over 3 of s and f; 4 over 2 of s c and f


@pytest.mark.parametrize(
    ("structure", "changes", "message"),
    [
        (Cells(widths=(2.0,)), {}, "no width is at most 1"),
        (SublayerOrder(), {"layers": "s*3"}, "have one order"),
        (SublayerOrder(orders="sandwich"), {"layers": "s s f"}, "is no sandwich"),
    ],
)
def test_a_space_without_programs_says_why(
    structure: StructureOption, changes: dict[str, object], message: str
) -> None:
    architecture = Architecture.model_validate({**ENCODER.model_dump(), **changes})
    assert message in " ".join(structure.mistakes(architecture, "layers"))


@pytest.mark.parametrize("layer", ["x", "conv", "sep:4", "lin:2", "s:3"])
def test_an_unknown_layer_is_refused(layer: str) -> None:
    with pytest.raises(ValueError, match="allowed: s, c, g, f, lin, conv:3, sep:7"):
        Cells(layers=(layer,))


def test_genomes_of_one_program_are_one_candidate() -> None:
    """The order of branches, and genes without an effect, change no program."""
    structure, baseline, stack = SPACES["cells"]
    base = {gene: values[0] for gene, values in structure.genes(baseline, stack).items()}
    genes = {"1.left": "lin", "1.right": "sep:3", "1.left.width": "0.5"}
    swapped = {"1.left": "sep:3", "1.right": "lin", "1.right.width": "0.5", "3.left": "g", "1.left.heads": "4"}
    found = [structure.program(baseline, stack, chosen_from({**base, **each})) for each in (genes, swapped)]
    assert found[0] == found[1]
