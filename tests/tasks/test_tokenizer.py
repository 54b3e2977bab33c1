"""A vocabulary of WordPiece, tokens on disk, and the files of every tokenizer."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.errors import CorruptionError, DataError
from steeplechase.tasks.corpora.assembly import read_documents
from steeplechase.tasks.progress import silent
from steeplechase.tasks.tokenizer import (
    BpeOption,
    ByteBpeOption,
    GivenVocabulary,
    SentencePieceOption,
    Tokenizer,
    UnigramOption,
    WordOption,
    WordPiece,
    load_tokenizer,
    train_tokenizer,
)
from steeplechase.tasks.tokens import read_tokens, unigram_entropy, write_tokens
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS, read_vocabulary
from tests.factories.published_data import published
from tests.factories.tokenizers import DECLARED, EVERY_KIND, TEXTS, trained

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
    monkeypatch.setattr("steeplechase.tasks.tokens.TOKENS_PER_BLOCK", 7)
    assert unigram_entropy(tokens, SMALL) == whole


every_kind = pytest.mark.parametrize("kind", EVERY_KIND)


@every_kind
def test_a_saved_tokenizer_loads_equal(kind: str, tmp_path: Path) -> None:
    words = trained(kind)
    words.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert type(loaded) is type(words)
    assert (loaded.pieces, loaded.fingerprint) == (words.pieces, words.fingerprint)
    assert loaded.encode(TEXTS) == words.encode(TEXTS)


@every_kind
def test_a_modified_file_is_reported(kind: str, tmp_path: Path) -> None:
    trained(kind).save(tmp_path)
    changed = tmp_path / trained(kind).file_names[-1]
    changed.write_text(changed.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    with pytest.raises(CorruptionError, match="sha256"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in DECLARED if kind != "wordpiece"])
def test_a_given_vocabulary_encodes_as_the_trained_one(kind: str, tmp_path: Path) -> None:
    words, (declaration, size) = trained(kind), DECLARED[kind]
    words.save(tmp_path)
    path = tmp_path if len(words.file_names) > 1 else tmp_path / words.file_names[0]
    given_files = declaration.model_copy(update={"path": str(path)})
    again = train_tokenizer(given_files, [], size)  # type: ignore[arg-type]
    assert again.encode(TEXTS) == words.encode(TEXTS)
    assert fingerprint(given_files.inputs()) != fingerprint(declaration.inputs())
    with pytest.raises(DataError, match=f"{size} pieces, but the architecture has a vocabulary_size of {size - 1}"):
        train_tokenizer(given_files, [], size - 1)  # type: ignore[arg-type]
    (path if path.is_file() else path / words.file_names[0]).unlink()
    with pytest.raises(DataError, match="No such file"):
        given_files.inputs()


def test_special_tokens_are_found_under_their_other_names(tmp_path: Path) -> None:
    roberta, xlnet = tmp_path / "roberta", tmp_path / "xlnet"
    roberta.write_text("<s>\n<pad>\n</s>\n<unk>\nthe\n<mask>\n")
    xlnet.write_text("<unk>\n<s>\n</s>\n<cls>\n<sep>\n<pad>\n<mask>\nthe\n")
    for path, numbers in ((roberta, (1, 3, 0, 2, 5)), (xlnet, (5, 0, 3, 4, 6))):
        words = train_tokenizer(WordOption(path=str(path)), [], 10)
        assert (words.pad, words.unknown, words.classify, words.separate, words.mask) == numbers
        assert words.encode(["The fox"]) == [[words.pieces.index("the"), words.unknown]]


WRONG_FILES = [
    (BpeOption, {"vocab.json": "[1]", "merges.txt": ""}, ["vocab.json: a mapping of pieces"]),
    (BpeOption, {"vocab.json": "{", "merges.txt": ""}, ["vocab.json: is not JSON"]),
    (BpeOption, {"vocab.json": '{"a": 0, "b": true}', "merges.txt": ""}, ["each from 0 to the last once"]),
    (BpeOption, {"vocab.json": '{"a": 0, "b": {"c": 1}}', "merges.txt": ""}, ["each from 0 to the last once"]),
    (BpeOption, {"vocab.json": '{"a": 0, "b": 0}', "merges.txt": ""}, ["each from 0 to the last once"]),
    (BpeOption, {"vocab.json": '{"a": 0, "a": 1}', "merges.txt": ""}, ["each from 0 to the last once"]),
    (
        ByteBpeOption,
        {"vocab.json": '{"a": 0, "b": 1, "ab": 2, "<s>": 3}', "merges.txt": "#version: 0.2\na b\na\na b\nb a\n"},
        [
            "merges.txt:3: 'a' is not a merge",
            "merges.txt:4: duplicate merge 'a b', first on line 2",
            "merges.txt:5: 'ba' is not in vocab.json",
            "vocab.json: no [PAD] (or <pad>), [UNK] (or <unk>), [SEP] (or <sep>, </s>), [MASK] (or <mask>)",
        ],
    ),
    (
        UnigramOption,
        {"unigram.vocab": "<pad>\t0\nthe\nthe\t-1\na\tnan\n"},
        [
            "unigram.vocab:2: 'the' is not a piece",
            "unigram.vocab:4",
            "unigram.vocab:3: duplicate piece 'the'",
            "no [",
        ],
    ),
    (WordOption, {"vocab.txt": "the\n\n"}, ["vocab.txt:2: '' is empty", "no [PAD]"]),
    (SentencePieceOption, {"spiece.model": "text"}, ["spiece.model: is a file; a folder with unigram.vocab and"]),
]


@pytest.mark.parametrize(("option", "files", "lines"), WRONG_FILES)
def test_every_mistake_of_given_files_is_reported(
    option: type[BpeOption], files: dict[str, str], lines: list[str], tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path if len(files) > 1 else tmp_path / next(iter(files))
    with pytest.raises(DataError) as refusal:
        option(path=str(path)).inputs()
    for line in lines:
        assert line in str(refusal.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(files)
