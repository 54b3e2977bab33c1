"""Text files of every format are read into documents."""

import gzip
import json
import lzma
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow
import pyarrow.parquet
import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.assembly import SPLITS, CorpusSummary, assemble, split_of
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from steeplechase.tasks.progress import silent
from tests.factories.published_data import published


def read(path: Path) -> list[Document]:
    return list(TextFilesCorpus(path=str(path)).documents(silent))


def test_every_format_gives_the_same_texts(tmp_path: Path) -> None:
    texts = ["The first text of three.", "Second: naïve café.", "A third one"]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "c.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "d.parquet")
    for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl.xz", "d.parquet"):
        assert [document.text for document in read(tmp_path / name)] == texts
    assert len(read(tmp_path)) == 12


def test_plain_text_is_cut_at_blank_lines_into_sections(tmp_path: Path) -> None:
    paragraphs = [f"Paragraph {number}. " + "words and more words " * 20 for number in range(100)]
    (tmp_path / "book.txt").write_text("\n\n".join(paragraphs))
    documents = read(tmp_path / "book.txt")
    assert "".join(document.text for document in documents).count("Paragraph") == 100
    assert len({document.source for document in documents}) > 4
    assert all(document.text.startswith("Paragraph") for document in documents)


def test_split_by_file_keeps_a_whole_file_in_one_split(tmp_path: Path) -> None:
    paragraphs = "\n\n".join(f"Paragraph {number}. " + "words and more words " * 20 for number in range(40))
    for number in range(30):
        (tmp_path / f"book{number}.txt").write_text(f"Book {number}\n\n{paragraphs.replace('words', f'w{number}')}")
    by_file, by_section = (TextFilesCorpus(path=str(tmp_path), split_by=each) for each in ("file", "section"))
    documents = [*by_file.documents(silent)]
    assert {document.source for document in documents} == {f"book{number}.txt" for number in range(30)}
    assert [document.text for document in documents] == [document.text for document in by_section.documents(silent)]
    cut = {
        (document.source.partition("#")[0], split_of(document.source)) for document in by_section.documents(silent)
    }
    assert len(cut) > 30  # by section, some book is in two splits
    assert len({(document.source, split_of(document.source)) for document in documents}) == 30
    assert {split_of(document.source) for document in documents} == {*SPLITS}


def test_each_wikiextractor_article_is_a_source() -> None:
    documents = read(published("text/wikipedia_en_2015/AA/wiki_00.xz"))
    assert len(documents) == 38  # the `<doc` lines of that file
    assert documents[0].name == "Anarchism"
    assert documents[0].text.startswith("Anarchism\n\nAnarchism is a political philosophy")
    assert len({document.source for document in documents}) == 38


def test_inputs_depend_on_content_and_not_on_paths(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.txt").write_text("the same text")
    one, two = (TextFilesCorpus(path=str(tmp_path / place)) for place in ("one", "two"))
    assert one.inputs() == two.inputs()
    (tmp_path / "two/a.txt").write_text("another text")
    assert one.inputs() != two.inputs()


def test_the_output_of_wikiextractor_needs_no_suffix(tmp_path: Path) -> None:
    (tmp_path / "wiki_00").write_text('<doc id="7" url="" title="A">\nA\n\nText of an article.\n</doc>\n')
    (document,) = read(tmp_path)
    assert (document.source, document.name) == ("wiki_00#7", "A")


@pytest.mark.parametrize("name", ["a.ndjson", "a.JSONL", "b.TXT", "b.txt.gz"])
def test_a_suffix_is_read_in_any_case_and_by_its_other_name(name: str, tmp_path: Path) -> None:
    content = (json.dumps({"text": "One."}) if name.startswith("a") else "One.").encode() + b"\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    corpus = TextFilesCorpus(path=str(tmp_path / name))
    assert [document.text for document in corpus.documents(silent)] == ["One."]
    assert isinstance(corpus.inputs(), dict)


def assembled(folder: Path, texts: Sequence[str], seed: int = 0) -> CorpusSummary:
    """Return the summary of a corpus with a row for each text."""
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "out").mkdir(exist_ok=True)
    return assemble(TextFilesCorpus(path=str(folder / "a.jsonl"), split_seed=seed), folder / "out", silent)


@pytest.mark.parametrize("alphabet", ["0123456789 ", "!?.,;:-() ", "\U0001f600\U0001f601\U0001f602 "])
def test_texts_without_letters_are_no_duplicates_of_each_other(alphabet: str, tmp_path: Path) -> None:
    random = Random(1)
    texts = ["x" + "".join(random.choices(alphabet, k=300)) + "x" for _ in range(200)]
    found = assembled(tmp_path, [text.strip("x") for text in [*texts, *texts[:50]]])
    assert found.exact_duplicates == 50
    assert sum(split.documents for split in found.splits.values()) == 200


def test_a_split_that_is_too_small_names_a_seed_with_which_it_is_not(tmp_path: Path) -> None:
    texts = [" ".join(f"{chr(97 + row)}{word}" for word in ["one", "two", "three", "four"]) * 60 for row in range(26)]
    texts = [f"{text} {chr(97 + row) * 40}" for row, text in enumerate(texts)]
    with pytest.raises(DataError) as refusal:
        assembled(tmp_path, texts)
    found = re.search(r"write split_seed: (\d+) in `corpus`", refusal.value.lines[0])
    assert found is not None
    assert assembled(tmp_path, texts, int(found[1])).splits["validation"].characters >= 500
    with pytest.raises(DataError, match="the corpus is too small"):
        assembled(tmp_path, texts[:5])
