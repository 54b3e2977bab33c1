"""Files that are not text, not YAML, not regular files or too large are errors without delay."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from steeplechase.configuration.yaml import load
from steeplechase.foundation.errors import ConfigurationError, MachineError
from steeplechase.foundation.schema import Count, Schema

Tell = Callable[[bytes], tuple[str, ...]]


class Plate(Schema):
    depth: Count = 1
    layers: tuple[Count, ...] = ()


@pytest.fixture
def refusal_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tell:
    """A function from a file's bytes to the lines of its refusal."""
    monkeypatch.chdir(tmp_path)

    def tell(content: bytes) -> tuple[str, ...]:
        Path("f.yaml").write_bytes(content)
        with pytest.raises(ConfigurationError) as refusal:
            load(Path("f.yaml"), Plate, None)
        return refusal.value.lines

    return tell


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a: \xe9\n", "byte 0xe9 at offset 3 is not UTF-8"),
        (b"\xff\xfea\x00", "byte 0xff at offset 0 is not UTF-8"),
        (b"a: 1\nb: \x00", "the character U+0000 at byte offset 8 is not allowed; remove it"),
        (b"x" * (2**20 + 1), "the file is larger than 1048576 bytes, the most allowed"),
        (b"[" * 100_000, "nested deeper than 32 levels"),
        (b"", "the document is empty; an experiment is a mapping of keys to values"),
        (b"hello", "a mapping is needed, got 'hello'"),
        (b"radius:3", "a space is missing after ':'; write radius: 3"),
        (b"*a", "the alias *a is not allowed; write the value out"),
        (b"%YAML 2.0\n---\n{}", "column 1: directives (%) are not allowed"),
        (b"depth: " + b"9" * 5000, "a number of 5000 characters; write a shorter one, or quote it to make it text"),
    ],
    ids=str,
)
def test_unreadable_bytes_and_bombs_are_refused(content: bytes, complaint: str, refusal_lines: Tell) -> None:
    (line,) = refusal_lines(content)
    assert line.endswith(f": {complaint}")


def test_more_than_fifty_thousand_values_are_refused(refusal_lines: Tell) -> None:
    (line,) = refusal_lines(b"layers: [" + b"1," * 60_000 + b"]\n")
    assert line == "f.yaml:1: more than 50000 values, the most allowed"


def test_a_path_that_is_not_a_regular_file_is_an_environment_error(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero"), Path("a\0b"), pipe / "x"):
        with pytest.raises(MachineError):
            load(path, Plate, None)
    with pytest.raises(ConfigurationError, match="No such file"):  # a wrong name
        load(tmp_path / "missing.yaml", Plate, None)
