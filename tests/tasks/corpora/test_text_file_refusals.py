"""Text files that no reader can read are refused with name and position, all at once."""

import gzip
import lzma
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from steeplechase.tasks.data_folder import similar_name
from steeplechase.tasks.progress import silent
from tests.factories.paths import ROOT


def read(path: Path) -> list[Document]:
    return list(TextFilesCorpus(path=str(path)).documents(silent))


def refused(path: Path) -> str:
    """Return the one line of the refusal."""
    with pytest.raises(DataError) as refusal:
        read(path)
    (line,) = refusal.value.lines
    return line


LATIN = b"first line\nna\xefve\n"
DEFLATED = gzip.compress(b"some text of some length\n" * 50)
FILES: list[tuple[str, bytes, str]] = [
    ("a.txt", LATIN, r"a\.txt:2: byte 0xef at byte offset 13 is not UTF-8"),
    ("a.txt", b"first line\nsecond\x00\n", r"a\.txt:2: a NUL byte at byte offset 17"),
    ("a.txt", gzip.compress(b"text"), r"promises plain text, the first bytes are \.gz data"),
    ("a.txt.gz", gzip.compress(b"a line of text\n" * 2_000_000), r"expands more than 200 times"),
    ("a.txt.xz", lzma.compress(bytes(range(97, 120)) * 1000)[:-20], r"a\.txt\.xz: damaged archive"),
    ("a.txt.gz", DEFLATED[:10] + b"\xff" + DEFLATED[11:], r"a\.txt\.gz: damaged archive"),  # a reserved type of block
    ("a.pdf", b"%PDF", r"unknown suffix '\.pdf'"),
    ("a.csv.gz", gzip.compress(b"a,b\n"), r"a\.csv\.gz: unknown suffix '\.csv'; known are \.txt and \.jsonl"),
    ("README.md", b"# Data", r"README\.md: unknown suffix '\.md'; .*; convert it, or move it out of the folder"),
    ("a.arrow", b"ARROW", r"unknown suffix '\.arrow'; .*; write it with `to_parquet` of datasets"),
    ("a.txt", b"", r"a\.txt: the file is empty"),
    (os.fsdecode(b"b\xff.txt"), b"text", r"'b\\udcff\.txt': the name of this file is not UTF-8"),
    ("a.jsonl", b'{"text": "x"}\n{text}\n', r"a\.jsonl:2: not JSON"),
    ("a.jsonl", b'{"text": "x"}\n{"words": "y"}\n', r'a\.jsonl:2: needs an object with a text under "text"'),
    ("a.jsonl", b'{"content": "x", "id": 1}\n', r'a text under "text"; fields found: content, id'),
    ("a.jsonl", b'{"text": "x"}\n{"text": "\\ud83d"}\n', r"a\.jsonl:2: not JSON: \\ud83d is half of a surrogate"),
    ("a.jsonl", b'[\n {"text": "x"},\n {"text": "y"}\n]\n', r"a\.jsonl:1: a JSON array, expected one object a line"),
    ("a.jsonl", b"[" * 100_000 + b"\n", r"a\.jsonl:1: not JSON: nested too deeply"),
]


@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=[message for *_, message in FILES])
def test_what_no_reader_can_read_is_one_line(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert re.search(message, refused(tmp_path))


WITHOUT_TEXTS: list[tuple[str, str, str]] = [
    (
        "a.jsonl",
        '{"content": "x"}\n',
        r'a\.jsonl:1: needs an object with a text under "text"; fields found: content; ren',
    ),
    ("a.jsonl", '{"txt": "x"}\n', r"fields found: txt; rename 'txt'\?"),
    ("a.jsonl", '\n{"text": null}\n', r'a\.jsonl:2: needs an object with a text under "text"'),
    ("a.jsonl", "a,text\n1,x\n", r"a\.jsonl:1: not JSON"),
    ("a.jsonl", '{"text": ""}\n{"text": " "}\n', r"a\.jsonl: no row has a text under 'text'"),
    ("a.parquet", "content", r"a\.parquet: no column 'text'; columns found: content; rename one 'text'"),
    ("a.parquet", "text", r"a\.parquet: no row has a text under 'text'"),
]


@pytest.mark.parametrize(
    ("name", "content", "message"), WITHOUT_TEXTS, ids=[message for *_, message in WITHOUT_TEXTS]
)
def test_rows_without_texts_are_found_before_any_stage(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(pyarrow.table({content: pyarrow.array([], pyarrow.string())}), tmp_path / name)
    else:
        (tmp_path / "whole.txt").write_text("a text\n" * 4000)
    with pytest.raises(DataError) as refusal:
        TextFilesCorpus(path=str(tmp_path)).check_exists()
    (line,) = refusal.value.lines
    assert re.search(message, line)


BINARY = pyarrow.array([b"\xff\xfe", b"x"], pyarrow.binary())
X = pyarrow.array(["x"])
TABLES: dict[str, pyarrow.Table] = {
    r"no column 'text'; columns found: texts; rename 'texts'\?": pyarrow.table({"texts": ["x"]}),
    r"a\.parquet: row 2: text: null, expected a text": pyarrow.table({"text": ["x", None]}),
    r"a\.parquet: row 1: text: a value of type int, expected a text": pyarrow.table({"text": [1, 2]}),
    r"a\.parquet: 2 columns are named 'text'": pyarrow.Table.from_arrays([X, X], names=["text", "text"]),
    r"a\.parquet: damaged parquet: .*0xff, which is not UTF-8": pyarrow.table(
        {"text": pyarrow.Array.from_buffers(pyarrow.string(), 2, BINARY.buffers())}
    ),
}


@pytest.mark.parametrize("message", TABLES)
def test_a_table_without_texts_is_one_line(message: str, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(TABLES[message], tmp_path / "a.parquet")
    assert re.search(message, refused(tmp_path))


def test_a_damaged_page_is_one_line(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"text": ["some text of some length"] * 9}), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[:30] + b"\xff" * 30 + content[60:])
    assert refused(tmp_path).startswith("a.parquet: damaged parquet")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (__file__, r"symbolic link out of the corpus folder"),
        ("a.txt", r"a\.txt: Too many levels of symbolic links"),
        ("gone.txt", r"a\.txt: No such file"),
        (None, r"the folder holds no files"),
    ],
)
def test_links_that_lead_nowhere_and_an_empty_folder_are_refused(
    target: str | None, message: str, tmp_path: Path
) -> None:
    if target is not None:
        (tmp_path / "a.txt").symlink_to(target)
    assert re.search(message, refused(tmp_path))


def test_what_is_not_utf_8_and_too_little_text_are_found_before_any_stage(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(LATIN)
    corpus = TextFilesCorpus(path=str(tmp_path))
    with pytest.raises(DataError, match=r"a\.txt:2: byte 0xef at byte offset 13 is not UTF-8"):
        corpus.inputs()
    (tmp_path / "a.txt").write_bytes(b"first line\nsecond\0\n")
    with pytest.raises(DataError, match=r"a\.txt:2: a NUL byte at byte offset 17"):
        corpus.inputs()
    with pytest.raises(DataError, match=r"bytes of text are too few for a corpus; .* more than 21,000 characters"):
        corpus.check_exists()
    (tmp_path / "a.txt").write_text("a text\n" * 4000)
    corpus.check_exists()
    (tmp_path / "a.txt").unlink()
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"a text\n" * 4000))
    corpus.check_exists()  # packed


def test_whole_files_that_leave_a_split_empty_are_refused_before_any_stage(tmp_path: Path) -> None:
    by_file = TextFilesCorpus(path=str(tmp_path), split_by="file")
    (tmp_path / "a.txt").write_text("a text\n" * 4000)
    with pytest.raises(DataError, match=r"each of the 1 files is in one split, .* add files"):
        by_file.check_exists()
    for number in range(40):
        (tmp_path / f"book{number}.txt").write_text("a text\n" * 4000)
    by_file.check_exists()
    with pytest.raises(DataError, match=r"each of the 41 files is in one split, .* write split_seed: 0, or"):
        by_file.model_copy(update={"split_seed": 7}).check_exists()


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
corpus = TextFilesCorpus(path={str(tmp_path)!r})
os.scandir("/").close()
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
try:
    print(corpus.inputs())
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


def test_all_files_that_are_not_read_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text")
    for name in ("b.pdf", "c.doc", "notes"):
        (tmp_path / name).write_text("text")
    (tmp_path / "d.txt").touch()
    with pytest.raises(DataError) as refusal:
        read(tmp_path)
    assert [line.partition(":")[0] for line in refusal.value.lines] == ["b.pdf", "c.doc", "d.txt", "notes"]


def test_a_missing_path_suggests_what_its_folder_has(tmp_path: Path) -> None:
    (tmp_path / "train.csv").touch()
    (tmp_path / "text.txt").touch()
    with pytest.raises(DataError, match=rf"\. Did you mean {tmp_path}/text\.txt\?"):
        TextFilesCorpus(path=str(tmp_path / "txet.txt")).check_exists()
    assert similar_name(tmp_path / "trian.csv") == f". Did you mean {tmp_path}/train.csv?"
    assert similar_name(tmp_path / "other") == similar_name(tmp_path / "absent" / "train.csv") == ""
