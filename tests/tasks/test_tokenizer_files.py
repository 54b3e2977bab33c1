"""Files of tokenizers: saved, changed, given by a user, and wrong."""

from pathlib import Path

import pytest

from foundation.errors import CorruptionError, DataError
from foundation.schema import fingerprint
from tasks.tokenizer import (
    BpeOption,
    ByteBpeOption,
    UnigramOption,
    WordOption,
    load_tokenizer,
    train_tokenizer,
)
from tests.factories.tokenizers import DECLARED, EVERY_KIND, TEXTS, trained

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
