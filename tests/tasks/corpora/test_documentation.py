"""A corpus has the same documents on every run, without duplicates and split by source."""

import sys
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steeplechase.foundation.errors import CorruptionError, DataError, MachineError
from steeplechase.tasks.corpora.assembly import (
    SPLITS,
    DuplicateFilter,
    assemble,
    read_documents,
    read_summary,
    split_of,
)
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.documentation import DocumentationCorpus, documents_of_source
from steeplechase.tasks.corpora.huggingface import HuggingFaceCorpus
from steeplechase.tasks.corpora.prose import clean_docstring, is_prose
from steeplechase.tasks.progress import Progress, silent

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Given:
    """A corpus of documents given in the test."""

    split_seed = 0

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = list(documents)

    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        yield from self._documents
        return 0


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_assembling_twice_writes_the_same_bytes(corpus: DocumentationCorpus, tmp_path: Path) -> None:
    small = DocumentationCorpus(distributions=corpus.distributions, maximum_megabytes=0.2)
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        assemble(small, tmp_path / place, silent)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_no_source_is_in_two_splits(assembled: Path) -> None:
    sources = [{document.source for document in read_documents(assembled, split)} for split in SPLITS]
    assert all(sources)
    assert len(set.union(*sources)) == sum(map(len, sources))


def test_the_summary_counts_what_the_files_hold(assembled: Path) -> None:
    summary = read_summary(assembled)
    for split in SPLITS:
        documents = list(read_documents(assembled, split))
        assert summary.splits[split].documents == len(documents)
        assert summary.splits[split].characters == sum(len(document.text) for document in documents)


def test_a_distribution_that_is_not_installed_is_refused() -> None:
    with pytest.raises(MachineError, match="pip install no-such-distribution"):
        DocumentationCorpus(distributions=("no-such-distribution",)).inputs()


def test_docstrings_come_with_qualified_names_and_signatures_as_written() -> None:
    source = b'''
class Box:
    """A box that holds one thing, and that can be opened and closed at will."""
    def __init__(self, width: int = 3): ...
    def open(self, *, slowly=False):
        """Open the box so that the thing in it can be taken out by a person."""
'''
    assert [(d.name, d.signature) for d in documents_of_source("boxes", source)] == [
        ("Box", "(self, width: int=3)"),
        ("Box.open", "(self, *, slowly=False)"),
    ]


def test_cleaning_drops_doctests_tables_and_code_and_keeps_prose() -> None:
    raw = """Sum of two numbers::

        total = add(1, 2)

    The result is returned to the caller.

    >>> add(1, 2)
    3

    ====  ====
    name  size
    ====  ====

    ```
    code = 1
    ```
    """
    assert clean_docstring(raw) == "Sum of two numbers:\nThe result is returned to the caller."


@pytest.mark.parametrize("text", ["Short.", "x" * 500, "0.1 0.2 0.3 0.4 " * 40, "alpha beta gamma delta " * 30])
def test_text_that_is_not_prose_is_dropped(text: str) -> None:
    assert not is_prose(text)


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]), min_size=1))
def test_a_repeated_text_is_a_duplicate_regardless_of_case_and_punctuation(words: list[str]) -> None:
    duplicates = DuplicateFilter()
    assert duplicates.classify(" ".join(words)) == "new"
    assert duplicates.classify(", ".join(words).upper() + "! 12") == "exact"


def test_a_text_changed_in_few_words_is_a_near_duplicate_and_another_is_not() -> None:
    words = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)]
    duplicates = DuplicateFilter()
    assert duplicates.classify(" ".join(words)) == "new"
    assert duplicates.classify(" ".join([*words[:100], "changed", *words[101:]])) == "near"
    assert duplicates.classify(" ".join(reversed(words))) == "new"


def test_a_corpus_too_small_is_refused_with_figures(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="validation: 0 characters in 0 documents"):
        assemble(Given([Document("one", "A single text of a single source.")]), tmp_path, silent)
    assert not (tmp_path / "corpus.json").exists()


def test_a_damaged_corpus_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"source": "a", "text": "b"}\n{"sou')
    with pytest.raises(CorruptionError, match=r"test\.jsonl:2"):
        list(read_documents(tmp_path, "test"))


def test_splits_have_about_their_share_of_sources() -> None:
    """Every seed draws its own split, of the same shares."""
    drawn = [[split_of(f"module_{number}", seed) for number in range(5000)] for seed in (0, 1, 2)]
    for splits in drawn:
        assert abs(splits.count("test") / 5000 - 0.10) < 0.02
        assert abs(splits.count("validation") / 5000 - 0.04) < 0.02
    assert len({tuple(splits) for splits in drawn}) == 3
    assert drawn[0] == [split_of(f"module_{number}") for number in range(5000)]


@pytest.mark.parametrize("revision", ["main", "v1.0", COMMIT[:12], COMMIT.upper(), "refs/convert/parquet", ""])
def test_branches_tags_and_partial_commits_are_refused_as_revisions(revision: str) -> None:
    with pytest.raises(ValidationError, match="is not a commit hash; expected 40 hexadecimal digits"):
        HuggingFaceCorpus(name="someone/texts", revision=revision)


def test_a_hub_corpus_without_the_extra_reports_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)  # what Python does where it is not installed
    with pytest.raises(MachineError, match=r"pip install 'steeplechase\[datasets\]'"):
        list(HuggingFaceCorpus(name="someone/texts", revision=COMMIT).documents(silent))
