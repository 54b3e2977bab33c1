"""Text files that no reader can read are refused with name and position, all at once."""

import gzip
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from steeplechase.tasks.progress import silent
from tests.factories.paths import ROOT


def read(path: Path) -> list[Document]:
    return list(TextFilesCorpus(path=str(path)).documents(silent))


def _latin(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"first line\nna\xefve\n")


def _nul(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"first line\nsecond\x00\n")


def _disguised(folder: Path) -> None:
    (folder / "a.txt").write_bytes(gzip.compress(b"text"))


def _bomb(folder: Path) -> None:
    (folder / "a.txt.gz").write_bytes(gzip.compress(b"a line of text\n" * 2_000_000))


def _cut_short(folder: Path) -> None:
    (folder / "a.txt.xz").write_bytes(lzma.compress(bytes(range(97, 120)) * 1000)[:-20])


def _link_out(folder: Path) -> None:
    (folder / "a.txt").symlink_to(__file__)


def _unknown(folder: Path) -> None:
    (folder / "a.pdf").write_bytes(b"%PDF")


def _empty(folder: Path) -> None:
    (folder / "a.txt").touch()


def _not_json(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"text": "x"}\n{text}\n')


def _no_text(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"text": "x"}\n{"words": "y"}\n')


def _other_column(folder: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"texts": ["x"]}), folder / "a.parquet")


def _nothing(folder: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_latin, r"a\.txt:2: byte 0xef at byte offset 13 is not UTF-8"),
        (_nul, r"a\.txt:2: a NUL byte at byte offset 17"),
        (_disguised, r"promises plain text, the first bytes are \.gz data"),
        (_bomb, r"expands more than 200 times"),
        (_cut_short, r"a\.txt\.xz: damaged archive"),
        (_link_out, r"symbolic link out of the corpus folder"),
        (_unknown, r"unknown suffix '\.pdf'"),
        (_empty, r"a\.txt: the file is empty"),
        (_not_json, r"a\.jsonl:2: not JSON"),
        (_no_text, r'a\.jsonl:2: needs an object with a text under "text"'),
        (_other_column, r"no column 'text'; columns found: texts; rename 'texts'\?"),
        (_nothing, r"the folder holds no files"),
    ],
)
def test_invalid_files_are_refused_with_name_and_position(
    spoil: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    spoil(tmp_path)
    with pytest.raises(DataError, match=message):
        read(tmp_path)


def test_what_is_not_utf_8_and_too_little_text_are_found_before_any_stage(tmp_path: Path) -> None:
    _latin(tmp_path)
    corpus = TextFilesCorpus(path=str(tmp_path))
    with pytest.raises(DataError, match=r"a\.txt:2: byte 0xef at byte offset 13 is not UTF-8"):
        corpus.inputs()
    with pytest.raises(DataError, match=r"bytes of text are too few for a corpus; .* more than 21,000 characters"):
        corpus.check_exists()
    (tmp_path / "a.txt").write_text("a text\n" * 4000)
    corpus.check_exists()
    (tmp_path / "a.txt").unlink()
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"a text\n" * 4000))
    corpus.check_exists()  # packed


def test_addresses_and_missing_files_are_refused() -> None:
    with pytest.raises(DataError, match="local path"):
        list(TextFilesCorpus(path="s3://bucket").documents(silent))
    with pytest.raises(DataError, match="no such file"):
        read(Path("no/such/folder"))


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path: Path) -> None:
    for part in ("seen", "unseen"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "a.txt").write_text("some text of one line")
    ask = f"""
import os, resource
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
os.scandir("/").close()
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
try:
    print(TextFilesCorpus(path={str(tmp_path)!r}).inputs())
except DataError as refused:
    print(refused)
"""
    done = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.endswith(": Too many open files\n"), done


@pytest.mark.parametrize("name", ["corpus", "corpus/inside.txt"])
def test_a_pipe_is_refused_without_waiting(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match=r"neither a file nor a folder|holds no files"):
        read(tmp_path / "corpus")


def test_a_dangling_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text of one line")
    (tmp_path / "b.txt").symlink_to(tmp_path / "gone.txt")
    with pytest.raises(DataError, match=r"b\.txt: No such file"):
        read(tmp_path)


def _loop(folder: Path) -> None:
    (folder / "a.txt").symlink_to("a.txt")


def _name_of_bytes(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/b\xff.txt")).write_text("text")


def _half_a_pair(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"text": "x"}\n{"text": "\\ud83d"}\n')


def _deep(folder: Path) -> None:
    (folder / "a.jsonl").write_text("[" * 100_000 + "\n")


def _field_of_another_name(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"content": "x", "id": 1}\n')


def _table_in_an_archive(folder: Path) -> None:
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n"))


def _no_block_of_deflate(folder: Path) -> None:
    content = bytearray(gzip.compress(b"some text of some length\n" * 50))
    content[10] = 0xFF  # the first byte behind the header: a reserved type of block
    (folder / "a.txt.gz").write_bytes(content)


def _values(folder: Path, values: list[object] | pyarrow.Array) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"text": values}), folder / "a.parquet")


def _two_columns(folder: Path) -> None:
    column = pyarrow.array(["x"])
    table = pyarrow.Table.from_arrays([column, column], names=["text", "text"])
    pyarrow.parquet.write_table(table, folder / "a.parquet")


def _bytes_of_no_text(folder: Path) -> None:
    values = pyarrow.array([b"\xff\xfe", b"x"], pyarrow.binary())
    _values(folder, pyarrow.Array.from_buffers(pyarrow.string(), 2, values.buffers()))


def _damaged_page(folder: Path) -> None:
    _values(folder, ["some text of some length"] * 9)
    content = bytearray((folder / "a.parquet").read_bytes())
    content[30:60] = b"\xff" * 30
    (folder / "a.parquet").write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_loop, r"a\.txt: Too many levels of symbolic links"),
        (_name_of_bytes, r"'b\\udcff\.txt': the name of this file is not UTF-8"),
        (_half_a_pair, r"a\.jsonl:2: not JSON: \\ud83d is half of a surrogate pair"),
        (_deep, r"a\.jsonl:1: not JSON: nested too deeply"),
        (_field_of_another_name, r'a text under "text"; fields found: content, id'),
        (_table_in_an_archive, r"a\.csv\.gz: unknown suffix '\.csv'; known are \.txt and \.jsonl"),
        (_no_block_of_deflate, r"a\.txt\.gz: damaged archive"),
        (lambda folder: _values(folder, ["x", None]), r"a\.parquet: row 2: text: null, expected a text"),
        (lambda folder: _values(folder, [1, 2]), r"a\.parquet: row 1: text: a value of type int, expected a text"),
        (_two_columns, r"a\.parquet: 2 columns are named 'text'"),
        (_bytes_of_no_text, r"a\.parquet: damaged parquet: .*0xff, which is not UTF-8"),
        (_damaged_page, r"a\.parquet: damaged parquet"),
    ],
)
def test_what_no_reader_can_read_is_one_line(spoil: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    spoil(tmp_path)
    with pytest.raises(DataError, match=message) as refusal:
        read(tmp_path)
    assert len(refusal.value.lines) == 1


def test_all_files_that_are_not_read_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text")
    for name in ("b.pdf", "c.TXT", "notes"):
        (tmp_path / name).write_text("text")
    (tmp_path / "d.txt").touch()
    with pytest.raises(DataError) as refusal:
        read(tmp_path)
    assert [line.partition(":")[0] for line in refusal.value.lines] == ["b.pdf", "c.TXT", "d.txt", "notes"]
