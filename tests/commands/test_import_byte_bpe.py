"""A RoBERTa folder with its byte-level BPE becomes an initial checkpoint; its tokens are those of transformers."""

import json
from pathlib import Path
from typing import Any

import pytest

from steeplechase.configuration.initial_checkpoint import read_initial_checkpoint
from steeplechase.tasks.tokenizer import ByteBpe, ByteBpeOption, load_tokenizer
from tests.factories.command_calls import Call
from tests.factories.local_models import transformers
from tests.factories.tokenizers import TEXTS, trained

NAMES = {"[PAD]": "<pad>", "[UNK]": "<unk>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}
PLAIN = [text for text in TEXTS if not any(name in text for name in NAMES.values())]


def roberta_words() -> ByteBpe:
    """Return a small byte-level BPE with RoBERTa's names of the special pieces."""
    words = trained("byte_bpe")
    assert isinstance(words, ByteBpe)
    return ByteBpe([NAMES.get(piece, piece) for piece in words.pieces], words.merges, False)


def model_in(folder: Path, pieces: int) -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers().RobertaConfig(
        vocab_size=pieces, max_position_embeddings=24, pad_token_id=0, type_vocab_size=1, **sizes
    )
    transformers().RobertaModel(config).save_pretrained(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder as transformers writes it: tokenizer.json; vocab.json and merges.txt are in older ones."""
    words = roberta_words()
    made = tmp_path / "folder"
    model_in(made, words.vocabulary_size)
    vocabulary = {piece: number for number, piece in enumerate(words.pieces)}
    names = zip(("pad", "unk", "cls", "sep", "mask"), NAMES.values(), strict=True)
    special: dict[str, Any] = {f"{name}_token": piece for name, piece in names}
    theirs = transformers().RobertaTokenizer(vocab=vocabulary, merges=list(words.merges), **special)
    theirs.save_pretrained(made)
    return made


def with_files(folder: Path, keep_document: bool) -> None:
    """Add vocab.json and merges.txt to a folder."""
    words = roberta_words()
    for name, text in zip(words.file_names, words.file_texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    if not keep_document:
        (folder / "tokenizer.json").unlink()


@pytest.mark.parametrize("files", ["tokenizer.json", "vocab.json and merges.txt", "all"])
def test_the_tokens_of_a_text_are_those_of_transformers(call: Call, tmp_path: Path, folder: Path, files: str) -> None:
    theirs = transformers().AutoTokenizer.from_pretrained(folder)
    expected = [theirs(text, add_special_tokens=False)["input_ids"] for text in PLAIN]
    if files != "tokenizer.json":
        with_files(folder, keep_document=files == "all")
    answer = call("import", folder, tmp_path / "out")
    assert answer.code == 0, answer.err
    ours = load_tokenizer(tmp_path / "out")
    assert isinstance(ours, ByteBpe)
    assert ours.pieces[ours.mask] == "<mask>"
    assert ours.encode(PLAIN) == expected
    start = read_initial_checkpoint(tmp_path / "out")
    assert start.vocabulary == ByteBpeOption(path=str(tmp_path / "out")).inputs()
    assert f"{{ kind: byte_bpe, path: {tmp_path / 'out'} }}" in start.remedy


def spoilt(folder: Path, name: str) -> None:
    document = json.loads((folder / "tokenizer.json").read_text())
    match name:
        case "space":
            document["pre_tokenizer"]["add_prefix_space"] = True
            document["normalizer"] = {"type": "NFC"}
        case "special":
            pieces = document["model"]["vocab"]
            pieces["other"] = pieces.pop("<mask>")
        case "merges":
            document["model"]["merges"].append(["q", "ß"])
        case "numbers":
            document["model"]["vocab"]["one more"] = 10_000
        case "other":
            document["model"]["merges"].pop()
            with_files(folder, keep_document=True)
    (folder / "tokenizer.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("space", ["pre_tokenizer.add_prefix_space: True cannot be read; allowed: False", "normalizer: {'type'"]),
        ("special", ["tokenizer.json: model.vocab: no [MASK] (or <mask>)"]),
        ("merges", ["model.merges: 'q ß' is of pieces that are not in the vocabulary"]),
        ("numbers", ["model.vocab: the pieces are not numbered from 0 without gaps"]),
        ("other", ["vocab.json and tokenizer.json have different vocabularies"]),
    ],
)
def test_a_wrong_vocabulary_is_refused_and_nothing_is_written(
    call: Call, tmp_path: Path, folder: Path, name: str, messages: list[str]
) -> None:
    spoilt(folder, name)
    answer = call("import", folder, tmp_path / "out")
    assert answer.code == 4
    assert all(message in answer.err for message in messages), answer.err
    assert len(answer.err.splitlines()) == len(messages)
    assert not (tmp_path / "out").exists()
