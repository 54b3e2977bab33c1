"""Layer programs: canonical texts, counts, known systems, and texts that are none."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from search_space.layer_program import (
    Chain,
    Item,
    LayerProgram,
    Operation,
    OperationKind,
    Parallel,
    ParallelOperations,
    Sublayer,
    SublayerKind,
    compact,
)
from search_space.program_parser import InvalidProgram, parse_program, sandwich

WORDS = some.from_regex(r"[a-z_][a-z0-9_]{0,7}", fullmatch=True)
SETTINGS = some.dictionaries(WORDS, some.integers(0, 4096) | WORDS, max_size=3).map(
    lambda each: tuple(sorted(each.items()))
)
SUBLAYERS = some.builds(Sublayer, some.sampled_from(SublayerKind), SETTINGS)
WIDTHS = some.integers(1, 64).map(lambda eighths: Fraction(eighths, 8))
KERNELS = some.integers(0, 16).map(lambda half: 2 * half + 1)
CONVOLVED = some.sampled_from([OperationKind.CONVOLUTION, OperationKind.SEPARABLE])
OPERATIONS = (
    some.just(Operation(OperationKind.NORM))
    | some.builds(Operation, some.just(OperationKind.LINEAR), some.none(), WIDTHS, some.none() | WORDS)
    | some.builds(Operation, CONVOLVED, KERNELS, WIDTHS, some.none() | WORDS)
)
STEPS = OPERATIONS | some.builds(ParallelOperations, some.tuples(OPERATIONS, OPERATIONS))
CHAINS = some.lists(STEPS, min_size=1, max_size=4).map(lambda steps: Chain(tuple(steps)))
ITEMS = SUBLAYERS | some.builds(Parallel, some.tuples(SUBLAYERS, SUBLAYERS)) | CHAINS
PROGRAMS = some.lists(ITEMS, min_size=1, max_size=6).map(lambda items: LayerProgram(tuple(items)))


@given(PROGRAMS)
def test_the_canonical_text_states_the_program(program: LayerProgram) -> None:
    assert parse_program(str(program)) == program


@given(PROGRAMS, some.integers(1, 5))
def test_a_repeated_group_is_its_items_in_a_row(program: LayerProgram, count: int) -> None:
    assert parse_program(f"({program})*{count}") == LayerProgram(program.items * count)
    assert str(parse_program(f"(({program})*{count})*2")) == " ".join([str(program)] * (2 * count))


@given(some.text(some.sampled_from("sfcgr()[]<>|*=:,.0123456789 lincovsep"), max_size=40))
def test_any_text_is_a_program_or_refused(text: str) -> None:
    refusal = refusal_of(text)
    if refusal is None:
        assert parse_program(str(parse_program(text))) == parse_program(text)
    else:
        assert refusal.startswith("position ")


def refusal_of(text: str) -> str | None:
    try:
        parse_program(text)
    except InvalidProgram as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("s f", (Sublayer(SublayerKind.SELF_ATTENTION), Sublayer(SublayerKind.FEED_FORWARD))),
        ("s (f)*1", (Sublayer(SublayerKind.SELF_ATTENTION), Sublayer(SublayerKind.FEED_FORWARD))),
        ("r(h=2048)", (Sublayer(SublayerKind.RECURRENT, (("h", 2048),)),)),
        (
            "[ s(h=16) | c ]",
            (
                Parallel(
                    (Sublayer(SublayerKind.SELF_ATTENTION, (("h", 16),)), Sublayer(SublayerKind.CROSS_ATTENTION))
                ),
            ),
        ),
        (
            "<sep:9:0.5>",
            (Chain((Operation(OperationKind.SEPARABLE, 9, Fraction(1, 2)),)),),
        ),
    ],
)
def test_texts_are_read_as_the_grammar_has_them(text: str, items: tuple[Item, ...]) -> None:
    assert parse_program(text).items == items


def test_the_evolved_transformers_cells_are_programs() -> None:
    encoder = parse_program("(g <[lin:4:relu|conv:3:0.5:relu] ln sep:9:0.5> s f)*3")
    decoder = parse_program("([s(h=16)|c] <[sep:11:2:relu|sep:7:0.5] ln sep:7:1> s c f(act=swish,mid_ln=1))*4")
    assert (len(encoder.items), encoder.count(SublayerKind.SELF_ATTENTION)) == (12, 3)
    assert (len(decoder.items), decoder.count(SublayerKind.CROSS_ATTENTION)) == (20, 8)


@given(some.integers(1, 12).flatmap(lambda layers: some.tuples(some.just(layers), some.integers(0, layers - 1))))
def test_a_sandwich_has_the_sublayers_of_the_interleaved_stack(sizes: tuple[int, int]) -> None:
    layers, coefficient = sizes
    letters = str(sandwich(layers, coefficient)).split()
    assert sorted(letters) == sorted(["s", "f"] * layers)
    assert letters[:coefficient] == ["s"] * coefficient
    assert letters[len(letters) - coefficient :] == ["f"] * coefficient
    assert sandwich(layers, 0) == parse_program(f"(s f)*{layers}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "position 1: a layer program has at least one sublayer here"),
        ("(s f", "position 5: the bracket before position 2 is not closed"),
        ("(s f)", "position 6: a group needs a count: (s f)*12"),
        ("s x", "position 3: 'x' is no sublayer; allowed: s, c, f, g, r"),
        ("(s f)*0", "position 7: '0' is no count from 1 to 2048"),
        ("(s f)*99999999999", "position 7: '99999999999' is no count from 1 to 2048"),
        ("[s f]", "position 4: '|' is needed, not 'f'"),
        ("s(h=1,h=2)", "position 7: 'h' is set twice"),
        ("<>", "position 3: a chain has at least one operation"),
        ("<conv:4:1>", "position 2: kernel size '4' of 'conv:4:1' is no odd number"),
        ("<lin:0>", "position 2: width '0' of 'lin:0' is no multiple of the model's"),
        ("<ln:relu>", "position 2: 'ln:relu' is no operation"),
    ],
)
def test_a_mistake_has_its_position(text: str, message: str) -> None:
    with pytest.raises(InvalidProgram) as refusal:
        parse_program(text)
    assert str(refusal.value).startswith(message)


def test_a_program_has_a_largest_size() -> None:
    with pytest.raises(InvalidProgram, match="more than 4,096 sublayers"):
        parse_program("((s)*64)*64 s")
    with pytest.raises(InvalidProgram, match="characters"):
        parse_program("s " * 5000)


@given(
    some.lists(some.sampled_from(("s", "f", "g", "r(hidden_width=4)", "[s|f]", "<lin:2>")), min_size=1, max_size=24)
)
def test_the_compact_text_is_the_same_program(items: list[str]) -> None:
    program = parse_program(" ".join(items))
    assert parse_program(compact(program)) == program
    assert len(compact(program)) <= len(str(program))


def test_compact_texts_of_known_systems() -> None:
    assert compact(parse_program("(s f)*12")) == "(s f)*12"
    assert compact(sandwich(16, 6)) == "s*7 (f s)*9 f*7"
    assert compact(parse_program("(g <lin:4:relu lin:1> s f)*3")) == "(g <lin:4:relu lin:1> s f)*3"
