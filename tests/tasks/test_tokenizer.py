"""A tokenizer is trained deterministically, encodes as BERT's, and refuses an invalid vocabulary."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from foundation.errors import CorruptionError, DataError
from tasks.corpora.assembly import read_documents
from tasks.progress import silent
from tasks.tokenizer import GivenVocabulary, Tokenizer, WordPiece, train_tokenizer
from tasks.tokens import read_tokens, unigram_entropy, write_tokens
from tasks.vocabulary import SPECIAL_TOKENS, read_vocabulary
from tests.factories.published_data import published

SMALL = WordPiece([*SPECIAL_TOKENS, "the", "cat", "##s", "sat", ".", "[", "]", "mask"], lowercase=True)


def test_encoding_equals_that_of_transformers() -> None:
    transformers = pytest.importorskip("transformers", reason="the oracle is transformers")
    path = published("vocab/bert-base-uncased/vocab.txt")
    ours = train_tokenizer(GivenVocabulary(path=str(path)), [], 30522)
    theirs = transformers.BertTokenizerFast(str(path), do_lower_case=True)
    texts = [
        "Return the élan of naïve numpy.ndarray objects; see `axis=-1`.",
        "日本語 and Ελληνικά — “quotes” … 100,000.5\tTabs\nand lines",
        "unaffable " + "x" * 150,
        "",
    ]
    assert ours.vocabulary_size == 30522
    assert ours.encode(texts) == theirs(texts, add_special_tokens=False)["input_ids"]


def test_a_given_vocabulary_must_fit_the_architecture(tmp_path: Path) -> None:
    SMALL.save(tmp_path)
    with pytest.raises(DataError, match="13 pieces, but the architecture has a vocabulary_size of 10"):
        train_tokenizer(GivenVocabulary(path=str(tmp_path / "vocab.txt")), [], 10)


def test_every_mistake_of_a_vocabulary_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n\nthe\n a\n")
    with pytest.raises(DataError) as refused:
        read_vocabulary(path)
    told = str(refused.value)
    assert f"{path}:6: '' is empty" in told
    assert f"{path}:7: duplicate piece 'the', first on line 5" in told
    assert f"{path}:8: ' a'" in told
    assert "no [MASK]" in told


def test_tokens_on_disk_are_those_of_the_texts_with_separators(
    assembled: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    texts = [document.text for document in read_documents(assembled, "validation")]
    counts = write_tokens(iter(texts), len(texts), tokenizer, tmp_path / "tokens.npy", silent)
    tokens = read_tokens(tmp_path / "tokens.npy")
    expected = [token for text in tokenizer.encode(texts) for token in (*text, tokenizer.separate)]
    assert tokens.tolist() == expected
    assert isinstance(tokens, np.memmap)
    assert tokens.dtype.str == "<u2"
    assert not tokens.flags.writeable
    assert (counts.documents, counts.tokens) == (len(texts), len(expected))
    assert counts.unknown == expected.count(tokenizer.unknown)


def test_a_large_vocabulary_uses_four_bytes_per_token(tmp_path: Path) -> None:
    large = WordPiece([*SPECIAL_TOKENS, *(f"word{number}" for number in range(66000))], lowercase=True)
    write_tokens(["word65999"], 1, large, tmp_path / "tokens.npy", silent)
    assert read_tokens(tmp_path / "tokens.npy").tolist() == [66004, 3]
    assert read_tokens(tmp_path / "tokens.npy").dtype.str == "<u4"


def test_a_truncated_or_pickled_token_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "tokens.npy"
    write_tokens(["the cat sat"] * 100, 100, SMALL, path, silent)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(CorruptionError):
        read_tokens(path)
    np.save(path, np.array([{"a": 1}]), allow_pickle=True)
    with pytest.raises(CorruptionError):
        read_tokens(path)


@given(st.lists(st.integers(0, SMALL.vocabulary_size - 1), max_size=200))
def test_the_unigram_entropy_is_that_of_the_tokens_which_may_be_predicted(tokens: list[int]) -> None:
    found = unigram_entropy(np.array(tokens, "<u2"), SMALL)
    _, counts = np.unique([token for token in tokens if token != SMALL.separate], return_counts=True)
    assert found == (pytest.approx(entropy(counts)) if len(counts) else None)


def test_the_unigram_entropy_does_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = np.random.default_rng(1).integers(0, SMALL.vocabulary_size, 1000).astype("<u2")
    whole = unigram_entropy(tokens, SMALL)
    monkeypatch.setattr("tasks.tokens.TOKENS_PER_BLOCK", 7)
    assert unigram_entropy(tokens, SMALL) == whole
