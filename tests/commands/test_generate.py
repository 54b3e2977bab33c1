"""Commands that read a user's file: the lines of generate, and each file once."""

import subprocess
import sys
from pathlib import Path

import pytest

from steeplechase.commands.generate import _lines
from steeplechase.foundation.errors import DataError


def test_lines_are_those_of_an_editor_without_their_ends(tmp_path: Path) -> None:
    path = tmp_path / "sources.txt"
    path.write_bytes(b"\xef\xbb\xbfein Mann\r\nzwei Hunde\n")
    assert _lines(path) == ["ein Mann", "zwei Hunde"]
    path.write_text("ein\u2028Mann\x0b\x85\nzwei\x0cHunde", encoding="utf-8")
    assert len(_lines(path)) == 2


def test_every_empty_line_is_named_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "sources.txt"
    path.write_text("\n" * 30)
    with pytest.raises(DataError) as refused:
        _lines(path)
    assert refused.value.lines[-1] == f"{path}: 10 more empty lines"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\n\ntwo\n \n", r"sources.txt:2: empty, expected a text"),
        (b"", "the file is empty, expected one text a line"),
        (b"one\n\xff\n", "byte 4 is not UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "sources.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        _lines(path)


ROOT = Path(__file__).parents[2]
COUNTING = """
import sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, given: opened.append(Path(str(given[0])).name) if event == "open" else None)
from steeplechase.commands.arguments import choose
_, scale, _ = choose(Path(sys.argv[1]), "smoke")
print(scale, *sorted(name for name in opened if name.endswith(".yaml")))
"""


def test_a_file_is_read_once() -> None:
    command = [sys.executable, "-c", COUNTING, "experiments/kernel_size_short.yaml"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert found == ["smoke", "kernel_size.yaml", "kernel_size_short.yaml", "table2.yaml"]
