"""ALBERT's unigram model and RoBERTa's byte-level BPE are imported; their tokens are those of transformers."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steeplechase.configuration.initial_checkpoint import read_initial_checkpoint
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.tokenizer import (
    ByteBpe,
    ByteBpeOption,
    SentencePiece,
    SentencePieceOption,
    Unigram,
    load_tokenizer,
)
from steeplechase.tasks.tokenizer.sentencepiece import read_model
from tests.factories.command_calls import Call
from tests.factories.local_models import transformers
from tests.factories.tokenizers import TEXTS, trained

NAMES = {"[PAD]": "<pad>", "[UNK]": "<unk>"}
SPECIAL = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
PLAIN = [text for text in dict.fromkeys(TEXTS) if not any(name in text for name in ("[", "<"))]
PLAIN += ["Ångström ﬁne ①  ``quoted''", "UNBELIEVABLE   café", " spaces ", ""]


def pieces() -> list[tuple[str, float]]:
    """Return the pieces and scores of a small unigram model, special ones as ALBERT names them."""
    words = trained("unigram")
    assert isinstance(words, Unigram)
    return [(NAMES.get(piece, piece), score) for piece, score in zip(words.pieces, words.scores, strict=True)]


def with_tokenizer(folder: Path) -> Any:
    """Add the files of transformers' own tokenizer to a folder; return it."""
    theirs = transformers().AlbertTokenizer(vocab=pieces())
    theirs.save_pretrained(folder)
    return theirs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an ALBERT model without tokenizer."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers().AlbertConfig(
        vocab_size=len(pieces()), embedding_size=8, max_position_embeddings=24, pad_token_id=0, **sizes
    )
    made = tmp_path / "folder"
    transformers().AlbertModel(config).save_pretrained(made)
    return made


def field(number: int, content: bytes) -> bytes:
    """Return a field of a message of protocol buffers: bytes of up to 16,383, or a message."""
    length = len(content)
    return bytes([number << 3 | 2, length & 127 | 128, length >> 7]) + content


def model_file(rows: list[tuple[str, float]], model_type: int = 1, piece_type: int = 1) -> bytes:
    """Return the file of a SentencePiece model without a table of characters."""
    made = (
        field(1, piece.encode()) + b"\x15" + struct.pack("<f", score) + bytes([0x18, piece_type])
        for piece, score in rows
    )
    return b"".join(field(1, each) for each in made) + field(2, bytes([0x18, model_type])) + field(3, b"")


def test_the_tokens_of_a_text_are_those_of_transformers(call: Call, tmp_path: Path, folder: Path) -> None:
    expected = [with_tokenizer(folder)(text, add_special_tokens=False)["input_ids"] for text in PLAIN]
    answer = call("import", folder, tmp_path / "out")
    assert answer.code == 0, answer.err
    ours = load_tokenizer(tmp_path / "out")
    assert isinstance(ours, SentencePiece)
    assert ours.lowercase
    assert ours.special_pieces == SPECIAL
    assert ours.encode(PLAIN) == expected
    start = read_initial_checkpoint(tmp_path / "out")
    given = SentencePieceOption(path=str(tmp_path / "out"))
    assert start.vocabulary == given.inputs()
    assert given.tokenizer([], len(pieces())).encode(PLAIN) == expected
    assert f"{{ kind: sentencepiece, path: {tmp_path / 'out'} }}" in start.remedy


def test_cased_tokens_of_xlnet_and_pieces_that_are_matched_whole_are_those_of_transformers(
    call: Call, tmp_path: Path, folder: Path
) -> None:
    names = {"[PAD]": "<pad>", "[UNK]": "<unk>", "[CLS]": "<cls>", "[SEP]": "<sep>", "[MASK]": "<mask>"}
    words = trained("unigram")
    assert isinstance(words, Unigram)
    rows = [(names.get(piece, piece), score) for piece, score in zip(words.pieces, words.scores, strict=True)]
    theirs = transformers().XLNetTokenizer(vocab=rows, unk_id=1)
    theirs.add_tokens([transformers().AddedToken("(", normalized=False)])
    theirs.save_pretrained(folder)
    document = json.loads((folder / "tokenizer.json").read_text())
    document["added_tokens"] = [each for each in document["added_tokens"] if each["id"] < len(rows)]
    (folder / "tokenizer.json").write_text(json.dumps(document))
    answer = call("import", folder, tmp_path / "out")
    assert answer.code == 0, answer.err
    ours = load_tokenizer(tmp_path / "out")
    assert isinstance(ours, SentencePiece)
    assert (ours.lowercase, ours.normalisation.whole) == (False, ("(",))
    texts = [*PLAIN, "a(fox)ba (fox"]
    assert ours.encode(texts) == [theirs(text, add_special_tokens=False)["input_ids"] for text in texts]


def test_a_sentencepiece_model_alone_is_read_as_transformers_would(call: Call, tmp_path: Path, folder: Path) -> None:
    rows = [(piece, struct.unpack("<f", struct.pack("<f", score))[0]) for piece, score in pieces()]
    (folder / "spiece.model").write_bytes(model_file(rows))
    answer = call("import", folder, tmp_path / "out")
    assert answer.code == 0, answer.err
    theirs = transformers().AlbertTokenizer(vocab=rows)
    expected = [theirs(text, add_special_tokens=False)["input_ids"] for text in PLAIN]
    assert load_tokenizer(tmp_path / "out").encode(PLAIN) == expected


def cased(document: dict[str, Any]) -> None:
    document["normalizer"]["normalizers"].append({"type": "Titlecase"})


def split(document: dict[str, Any]) -> None:
    document["pre_tokenizer"] = {"type": "Whitespace"}
    document["model"]["byte_fallback"] = True


def unknown(document: dict[str, Any]) -> None:
    document["model"]["unk_id"] = 3


def nameless(document: dict[str, Any]) -> None:
    document["model"]["vocab"][4][0] = "other"
    document["model"]["vocab"][9][0] = document["model"]["vocab"][10][0]


@pytest.mark.parametrize(
    ("spoil", "messages"),
    [
        (cased, ["normalizer: 'Titlecase' is not a step that can be read; allowed: Lowercase"]),
        (split, ["model.byte_fallback: true cannot be read", "pre_tokenizer: only WhitespaceSplit"]),
        (unknown, ["model.unk_id is not the number of the unknown piece"]),
        (nameless, ["is there twice", "no [MASK] (or <mask>)"]),
    ],
)
def test_a_wrong_vocabulary_is_refused_and_nothing_is_written(
    call: Call,
    tmp_path: Path,
    folder: Path,
    spoil: Callable[[dict[str, Any]], None],
    messages: list[str],
) -> None:
    with_tokenizer(folder)
    document = json.loads((folder / "tokenizer.json").read_text())
    spoil(document)
    (folder / "tokenizer.json").write_text(json.dumps(document))
    answer = call("import", folder, tmp_path / "out")
    assert answer.code == 4
    assert all(message in answer.err for message in messages), answer.err
    assert len(answer.err.splitlines()) == len(messages)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (model_file([("a", 0.0)], model_type=2), "not a unigram model"),
        (model_file([("<0x00>", 0.0)], piece_type=6), "pieces of single bytes"),
        (model_file([("a", 0.0)])[:-4], "damaged"),
        (b"", "no pieces"),
    ],
)
def test_another_model_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "spiece.model").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_model(tmp_path / "spiece.model")


ROBERTA_NAMES = {"[PAD]": "<pad>", "[UNK]": "<unk>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}


ROBERTA_TEXTS = [text for text in TEXTS if not any(name in text for name in ROBERTA_NAMES.values())]


def roberta_words() -> ByteBpe:
    """Return a small byte-level BPE with RoBERTa's names of the special pieces."""
    words = trained("byte_bpe")
    assert isinstance(words, ByteBpe)
    return ByteBpe([ROBERTA_NAMES.get(piece, piece) for piece in words.pieces], words.merges, False)


def model_in(folder: Path, pieces: int) -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers().RobertaConfig(
        vocab_size=pieces, max_position_embeddings=24, pad_token_id=0, type_vocab_size=1, **sizes
    )
    transformers().RobertaModel(config).save_pretrained(folder)


@pytest.fixture
def roberta_folder(tmp_path: Path) -> Path:
    """Return a folder as transformers writes it: tokenizer.json; vocab.json and merges.txt are in older ones."""
    words = roberta_words()
    made = tmp_path / "folder"
    model_in(made, words.vocabulary_size)
    vocabulary = {piece: number for number, piece in enumerate(words.pieces)}
    names = zip(("pad", "unk", "cls", "sep", "mask"), ROBERTA_NAMES.values(), strict=True)
    special: dict[str, Any] = {f"{name}_token": piece for name, piece in names}
    theirs = transformers().RobertaTokenizer(vocab=vocabulary, merges=list(words.merges), **special)
    theirs.save_pretrained(made)
    return made


def with_files(roberta_folder: Path, keep_document: bool) -> None:
    """Add vocab.json and merges.txt to a folder."""
    words = roberta_words()
    for name, text in zip(words.file_names, words.file_texts, strict=True):
        (roberta_folder / name).write_text(text, encoding="utf-8")
    if not keep_document:
        (roberta_folder / "tokenizer.json").unlink()


@pytest.mark.parametrize("files", ["tokenizer.json", "vocab.json and merges.txt", "all"])
def test_the_tokens_of_bytes_are_those_of_transformers(
    call: Call, tmp_path: Path, roberta_folder: Path, files: str
) -> None:
    theirs = transformers().AutoTokenizer.from_pretrained(roberta_folder)
    expected = [theirs(text, add_special_tokens=False)["input_ids"] for text in ROBERTA_TEXTS]
    if files != "tokenizer.json":
        with_files(roberta_folder, keep_document=files == "all")
    answer = call("import", roberta_folder, tmp_path / "out")
    assert answer.code == 0, answer.err
    ours = load_tokenizer(tmp_path / "out")
    assert isinstance(ours, ByteBpe)
    assert ours.pieces[ours.mask] == "<mask>"
    assert ours.encode(ROBERTA_TEXTS) == expected
    start = read_initial_checkpoint(tmp_path / "out")
    assert start.vocabulary == ByteBpeOption(path=str(tmp_path / "out")).inputs()
    assert f"{{ kind: byte_bpe, path: {tmp_path / 'out'} }}" in start.remedy


def spoilt(roberta_folder: Path, name: str) -> None:
    document = json.loads((roberta_folder / "tokenizer.json").read_text())
    match name:
        case "space":
            document["pre_tokenizer"]["add_prefix_space"] = True
            document["normalizer"] = {"type": "NFC"}
        case "special":
            pieces = document["model"]["vocab"]
            pieces["other"] = pieces.pop("<mask>")
            document["added_tokens"] = [each for each in document["added_tokens"] if each["content"] != "<mask>"]
        case "merges":
            document["model"]["merges"].append(["q", "ß"])
        case "numbers":
            document["model"]["vocab"]["one more"] = 10_000
        case "other":
            document["model"]["merges"].pop()
            with_files(roberta_folder, keep_document=True)
    (roberta_folder / "tokenizer.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("space", ["pre_tokenizer.add_prefix_space is true; false is needed here", 'normalizer.type is "NFC"; null']),
        ("special", ["tokenizer.json: no [MASK] (or <mask>)"]),
        ("merges", ["'qß' is not in tokenizer.json"]),
        ("numbers", ["model.vocab: a mapping of pieces to their numbers is needed, each from 0 to the last once"]),
        ("other", ["vocab.json and tokenizer.json have different vocabularies"]),
    ],
)
def test_a_wrong_vocabulary_of_bytes_is_refused_and_nothing_is_written(
    call: Call, tmp_path: Path, roberta_folder: Path, name: str, messages: list[str]
) -> None:
    spoilt(roberta_folder, name)
    answer = call("import", roberta_folder, tmp_path / "out")
    assert answer.code == 4
    assert all(message in answer.err for message in messages), answer.err
    assert len(answer.err.splitlines()) == len(messages)
    assert not (tmp_path / "out").exists()
