"""Loading: scalars, scales and locations, on small models of its own; files that are no text, or too large."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import Field

from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.yaml import load, read_file, scales
from steeplechase.configuration.yaml.explanations import BEYOND
from steeplechase.configuration.yaml.nodes import LARGEST_INTEGER, plain, plain_scalar
from steeplechase.foundation.errors import ConfigurationError, MachineError, Violation
from steeplechase.foundation.schema import Count, Schema


class Round(Schema):
    kind: Literal["round"] = "round"
    radius: float = 1.0
    holes: Count = 1


class Square(Schema):
    kind: Literal["square"] = "square"
    side: float = 1.0


class Plate(Schema):
    title: str = "plate"
    shape: Annotated[Round | Square, Field(discriminator="kind")] = Field(default_factory=Round)
    layers: tuple[Count, ...] = Field(default=(1,), examples=[[1, 2]])
    depth: Count | None = None
    either: int | bool | None = None
    free: dict[str, Any] = Field(default_factory=dict)

    def violations(self) -> Iterator[Violation]:
        for position, layer in enumerate(self.layers):
            if layer > 9:
                yield Violation(("layers", position), f"{layer} is above 9")
        if self.depth == 7:
            yield Violation(("shape", "radius"), "a depth of 7 needs a radius")


@pytest.fixture
def refusal_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function from a text to the lines of its refusal."""
    monkeypatch.chdir(tmp_path)

    def tell(text: str | bytes, scale: str | None = None) -> tuple[str, ...]:
        Path("f.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ConfigurationError) as refusal:
            load(Path("f.yaml"), Plate, scale)
        return refusal.value.lines

    return tell


def loaded(folder: Path, text: str | bytes, scale: str | None = None) -> Plate:
    file = folder / "f.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(file, Plate, scale)


@given(some.from_regex(r"[-+]?(\.[0-9]{1,9}|[0-9]{1,9}(\.[0-9]{0,9})?)[eE][-+]?[0-9]{1,2}", fullmatch=True))
def test_exponents_are_numbers_and_whole_ones_are_counts(number: str) -> None:
    """As in YAML 1.2's core schema, and as an integer where it is one that a double holds."""
    value = plain_scalar(number)
    assert value == float(number)
    assert type(value) is (int if float(number).is_integer() and abs(float(number)) <= LARGEST_INTEGER else float)


def test_exponents_are_read_into_fields_of_either_number(tmp_path: Path) -> None:
    plate = loaded(tmp_path, "shape: {kind: square, side: 2e+3}\nlayers: [5e0, 2e0]\nfree: {a: 1e-3, b: 1e-3.0}\n")
    assert (plate.shape, plate.layers) == (Square(side=2000.0), (5, 2))
    assert plate.free == {"a": 0.001, "b": "1e-3.0"}


def test_exponents_are_neither_text_nor_parts_of_a_count(refusal_lines: Any) -> None:
    assert refusal_lines("title: 1e-3\ndepth: 2.5e0\nlayers: [1e-5, 1e16]\n") == (
        "f.yaml:1: title: 0.001 is a number with a decimal point; text is needed. Quote it: '0.001'",
        "f.yaml:2: depth: 2.5 is a number with a decimal point; a whole number is needed",
        "f.yaml:3: layers[0]: 1e-05 is a number with an exponent; a whole number is needed",
        f"f.yaml:3: layers[1]: 1e+16 is a number with an exponent; a whole number is needed. {BEYOND}",
    )


@pytest.mark.parametrize("text", ["'no'", "'010'", '"12:30:45"', "'1e3'", "'null'", "none", "v1.2", "a-b", "1.2.3"])
def test_text_stays_text(text: str, tmp_path: Path) -> None:
    assert loaded(tmp_path, f"title: {text}\n").title == text.strip("'\"")


def test_byte_order_marks_and_carriage_returns_change_nothing(tmp_path: Path) -> None:
    text = "title: a\nlayers:\n  - 1\n  - 2"
    assert loaded(tmp_path, b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()) == loaded(tmp_path, text)


def test_all_mistakes_are_reported_by_line(refusal_lines: Any) -> None:
    assert refusal_lines("depth: 010\ntitel: a\nlayers: [1, 2.0,\n 'x']\neither: [1]\ndepth: 3\n") == (
        "f.yaml:1: depth: 010 is an octal-looking integer; write 10, or '010' if it is text",
        "f.yaml:2: titel: 'titel' is not a key here. Did you mean 'title'?",
        "f.yaml:3: layers[1]: 2.0 is a number with a decimal point; a whole number is needed. Write 2",
        "f.yaml:4: layers[2]: 'x' is text; a whole number is needed",
        "f.yaml:5: either: this is a list; a whole number or true or false is needed",
        "f.yaml:6: depth: duplicate key, first at line 1",
    )


def test_at_most_fifty_mistakes_are_reported(refusal_lines: Any) -> None:
    lines = refusal_lines("layers: [" + "x, " * 80 + "]\n")
    assert len(lines) == 51
    assert lines[-1] == "f.yaml: 30 more mistakes are not shown"


def test_a_key_of_another_mapping_is_sent_home(refusal_lines: Any) -> None:
    (line,) = refusal_lines("radius: 2\n")
    assert line == "f.yaml:1: radius: 'radius' is not a key here. It belongs under shape."
    (line,) = refusal_lines("shape: {kind: square, holes: 2}\n")
    assert line == "f.yaml:1: shape.holes: 'holes' is not a key here. It belongs to the kind round."


def test_a_violation_is_reported_at_its_node_or_nearest_parent(refusal_lines: Any) -> None:
    assert refusal_lines("depth: 7\nshape:\n  kind: round\nlayers: [1, 12]\n") == (
        "f.yaml:2: shape.radius: a depth of 7 needs a radius",
        "f.yaml:4: layers[1]: 12 is above 9",
    )


def test_a_misread_mapping_brings_no_mistakes_after_it(refusal_lines: Any) -> None:
    assert refusal_lines("shape: &s {}\nfree: *s\n") == (
        "f.yaml:1: shape: the anchor &s is not allowed; write the value out where it is needed",
        "f.yaml:2: free: the alias *s is not allowed; write the value out",
    )


SCALED = """
shape: {kind: round, radius: 3, holes: 2}
layers: [1, 2]
scales:
  small: {shape: {radius: 1}, layers: [5]}
  other: {shape: {kind: square}}
  same:
"""


def test_a_scale_merges_mappings_and_replaces_all_else(tmp_path: Path) -> None:
    small = loaded(tmp_path, SCALED, "small")
    assert (small.shape, small.layers) == (Round(radius=1, holes=2), (5,))
    assert loaded(tmp_path, SCALED, "other").shape == Square()
    assert loaded(tmp_path, SCALED, "same") == loaded(tmp_path, SCALED)
    file = tmp_path / "f.yaml"
    assert scales(file) == ("small", "other", "same")
    small_document = plain(read_file(file).documents["small"])
    assert small_document == {"shape": {"kind": "round", "radius": 1, "holes": 2}, "layers": (5,)}


def test_a_path_of_an_inherited_scale_is_beside_the_file_that_has_it(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "text.txt").touch()
    (tmp_path / "outer.yaml").write_text("scales: {small: {free: {path: text.txt}}}\n")
    (inner / "f.yaml").write_text("scales: {like: ../outer.yaml}\n")
    assert Path(load(inner / "f.yaml", Plate, "small").free["path"]).samefile(tmp_path / "text.txt")


def test_every_scale_is_validated_and_a_mistake_is_reported_once(refusal_lines: Any) -> None:
    text = "layers: [1, 2]\ndepth: x\nshape:\n  kind: round\nscales:\n  a: {layers: [0]}\n  b: {}\n  c: {titel: x}\n"
    expected = (
        "f.yaml:2: depth: 'x' is text; a whole number is needed",
        "f.yaml:6: scales.a.layers[0]: 0 is out of range; at least 1 is needed",
        "f.yaml:8: scales.c.titel: 'titel' is not a key here. Did you mean 'title'?",
    )
    assert refusal_lines(text) == refusal_lines(text, "b") == expected


def test_a_mistake_that_a_scale_makes_in_the_document_names_the_scale(refusal_lines: Any) -> None:
    text = "shape: {kind: round}\nscales:\n  a: {depth: 7}\n  b: {}\n"
    assert refusal_lines(text, "b") == ("f.yaml:1: shape.radius: a depth of 7 needs a radius (at scale a)",)


def test_an_unknown_scale_is_refused_with_the_known_ones(refusal_lines: Any) -> None:
    (line,) = refusal_lines(SCALED, "smal")
    assert line == "f.yaml:4: scales: 'smal' is not a scale; this file has small, other, same. Did you mean 'small'?"
    assert refusal_lines("title: a\n", "small") == ("f.yaml:1: 'small' is not a scale; this file has no scales.",)


Tell = Callable[[bytes], tuple[str, ...]]


class Dish(Schema):
    depth: Count = 1
    layers: tuple[Count, ...] = ()


@pytest.fixture
def refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tell:
    """A function from a file's bytes to the lines of its refusal."""
    monkeypatch.chdir(tmp_path)

    def tell(content: bytes) -> tuple[str, ...]:
        Path("f.yaml").write_bytes(content)
        with pytest.raises(ConfigurationError) as refusal:
            load(Path("f.yaml"), Dish, None)
        return refusal.value.lines

    return tell


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a: \xe9\n", "byte 0xe9 at offset 3 is not UTF-8; save the file as UTF-8"),
        (b"\xff\xfea\x00", "byte 0xff at offset 0 is not UTF-8; save the file as UTF-8"),
        (b"a: 1\nb: \x00", "the character U+0000 at byte offset 8 is not allowed; remove it"),
        (b"x" * (2**20 + 1), "the file is larger than 1048576 bytes, the most allowed"),
        (b"[" * 100_000, "nested deeper than 32 levels"),
        (b"hello", "a mapping is needed, got 'hello'"),
        (b"radius:3", "a space is missing after ':'; write radius: 3"),
        (b"%YAML 2.0\n---\n{}", "column 1: directives (%) are not allowed"),
        (b"depth: " + b"9" * 5000, "a number of 5000 characters; write a shorter one, or quote it to make it text"),
    ],
    ids=str,
)
def test_unreadable_bytes_and_bombs_are_refused(content: bytes, complaint: str, refusals: Tell) -> None:
    (line,) = refusals(content)
    assert line.endswith(f": {complaint}")


def test_more_than_fifty_thousand_values_are_refused(refusals: Tell) -> None:
    (line,) = refusals(b"layers: [" + b"1," * 60_000 + b"]\n")
    assert line == "f.yaml:1: more than 50000 values, the most allowed"


def test_a_path_that_is_not_a_regular_file_is_an_environment_error(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero"), Path("a\0b"), pipe / "x"):
        with pytest.raises(MachineError):
            load(path, Dish, None)
    with pytest.raises(ConfigurationError, match="No such file"):  # a wrong name
        load(tmp_path / "missing.yaml", Dish, None)


@pytest.mark.parametrize(
    ("right", "wrong", "remedy"),
    [
        ("dropout: 0.1", "dropout: 10%", "Write 0.1"),
        ("corpus: { kind: documentation }", "corpus: ./mine.txt", "Write { kind: text_files, path: ./mine.txt }"),
        ("corpus: { kind: documentation }", "corpus: documentatoin", "Did you mean 'documentation'?"),
    ],
)
def test_a_percentage_and_a_path_in_place_of_a_corpus_are_told_how_to_write_them(
    tmp_path: Path, right: str, wrong: str, remedy: str
) -> None:
    text = (
        "experiment: a\nquestion: b?\nbaseline: { objective: masked_language_model, recipe: { dropout: 0.1 } }\n"
        "design: { kind: one_factor, vary: { heads: [2] } }\ncorpus: { kind: documentation }\n"
        "pretraining: { tokens: 1e6, seeds: 1 }\n"
    )
    assert right in text
    (tmp_path / "a.yaml").write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(ConfigurationError) as refused:
        load_experiment(tmp_path / "a.yaml", None)
    (line,) = refused.value.lines
    assert line.endswith(remedy)
