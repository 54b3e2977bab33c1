"""Archives that unpack to far more than they hold are refused before they fill the memory."""

import gzip
import lzma
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora import file_lines
from steeplechase.tasks.corpora.file_lines import MAXIMUM_LINE_BYTES, text_lines, whole_text

PACKED = {".gz": gzip.compress, ".xz": lzma.compress}
UNPACKED_BYTES = MAXIMUM_LINE_BYTES + 2**20
READERS: dict[str, Callable[[Path], object]] = {
    "by lines": lambda path: sum(1 for _ in text_lines(path, path.name)),
    "whole": lambda path: len(whole_text(path, path.name)),
}


@cache
def packed(suffix: str, text: bytes) -> bytes:
    """Return a text as often as it fits into the bytes, packed."""
    return PACKED[suffix](text * (UNPACKED_BYTES // len(text)))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", [b" ", b"\n", b"a text\n"])
@pytest.mark.parametrize("suffix", PACKED)
def test_an_archive_that_expands_hundreds_of_times_is_refused(
    tmp_path: Path, suffix: str, text: bytes, reader: str
) -> None:
    path = tmp_path / f"archive.jsonl{suffix}"
    path.write_bytes(packed(suffix, text))
    with pytest.raises(DataError, match=r"archive\.jsonl.*(decompression bomb|a line longer than)"):
        READERS[reader](path)


@pytest.mark.parametrize("suffix", ["", *PACKED])
def test_a_document_beyond_the_limit_is_refused(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lines, "MAXIMUM_DOCUMENT_BYTES", 100)
    path = tmp_path / f"document.json{suffix}"
    for content in (b"x" * 100, b"x" * 101):
        path.write_bytes(PACKED[suffix](content) if suffix else content)
        if len(content) <= 100:
            assert whole_text(path, path.name) == content.decode()
            continue
        with pytest.raises(DataError, match=r"document\.json.*more than 100 bytes"):
            whole_text(path, path.name)


@pytest.mark.parametrize("suffix", ["", *PACKED])
def test_a_line_beyond_the_limit_is_refused(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lines, "MAXIMUM_LINE_BYTES", 100)
    path = tmp_path / f"lines.jsonl{suffix}"
    content = b"short\n" + b"x" * 200
    path.write_bytes(PACKED[suffix](content) if suffix else content)
    with pytest.raises(DataError, match=r"lines\.jsonl.*:2: a line longer than 100 bytes"):
        list(text_lines(path, path.name))
