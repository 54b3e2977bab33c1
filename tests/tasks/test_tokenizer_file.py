"""tokenizer.json as a given vocabulary: the same tokens as the library's own, and what differs is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.tokenizer import BpeOption, ByteBpeOption, GivenVocabulary, UnigramOption
from steeplechase.tasks.tokenizer.tokenizer import TokenizerOption

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = ["The lowest low, lower newest; the widest town.", "Newest towns are the lowest."]


def written(path: Path, kind: str) -> tokenizers.Tokenizer:
    """Train a tokenizer of the library on the texts, write its tokenizer.json and return it."""
    if kind == "vocabulary":
        made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
        made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
        made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        trainer: Any = tokenizers.trainers.WordPieceTrainer(
            vocab_size=80, special_tokens=SPECIAL, show_progress=False
        )
    elif kind == "bpe":
        made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"))
        made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
        made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=80, special_tokens=SPECIAL, end_of_word_suffix="</w>", show_progress=False
        )
    else:
        made = tokenizers.Tokenizer(tokenizers.models.BPE())
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=300, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
        )
    made.train_from_iterator(TEXTS, trainer)
    made.save(str(path))
    return made


OPTIONS: dict[str, Callable[[str], TokenizerOption]] = {
    "vocabulary": lambda path: GivenVocabulary(path=path),
    "bpe": lambda path: BpeOption(path=path),
    "byte_bpe": lambda path: ByteBpeOption(path=path),
}


def changed(path: Path, change: dict[str, object]) -> None:
    """Put values into a tokenizer.json: into its sections if they are mappings, else in place of them."""
    document = json.loads(path.read_text())
    for section, values in change.items():
        both = isinstance(values, dict) and isinstance(document[section], dict)
        document[section] = {**document[section], **values} if both else values
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_tokenizer_file_gives_the_librarys_tokens(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    reference = written(path, kind)
    option = OPTIONS[kind](str(path))
    assert isinstance(option.inputs(), dict)
    assert option.tokenizer([], 300).encode(TEXTS) == [each.ids for each in reference.encode_batch(TEXTS)]


def test_a_folder_of_transformers_is_read(tmp_path: Path) -> None:
    reference = written(tmp_path / "tokenizer.json", "vocabulary")
    tokens = [each.ids for each in reference.encode_batch(TEXTS)]
    assert GivenVocabulary(path=str(tmp_path)).tokenizer([], 300).encode(TEXTS) == tokens
    pieces = sorted(reference.get_vocab(), key=reference.get_vocab().__getitem__)
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    (tmp_path / "tokenizer.json").unlink()
    assert GivenVocabulary(path=str(tmp_path)).tokenizer([], 300).encode(TEXTS) == tokens


def test_unigram_names_the_file_that_it_reads_in_one_line(tmp_path: Path) -> None:
    written(tmp_path / "tokenizer.json", "bpe")
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        with pytest.raises(DataError) as refused:
            UnigramOption(path=str(path)).inputs()
        (line,) = refused.value.lines
        assert line.startswith(f"{path}: expected SentencePiece's .vocab")


def test_special_tokens_may_have_been_added_to_the_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        TEXTS, tokenizers.trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    made.add_special_tokens(SPECIAL)  # as `tokenizer.add_special_tokens` of transformers does for GPT-2
    made.save(str(path))
    tokenizer = ByteBpeOption(path=str(path)).tokenizer([], 400)
    assert tokenizer.vocabulary_size == made.get_vocab_size()
    assert tokenizer.encode(TEXTS) == [each.ids for each in made.encode_batch(TEXTS)]
    assert [tokenizer.pieces[number] for number in (tokenizer.pad, tokenizer.mask)] == ["[PAD]", "[MASK]"]


ADDED = [{"id": 0, "content": "[PAD]", "special": True}, {"id": 300, "content": "lowest", "special": False}]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("vocabulary", {"model": {"type": "Unigram"}}, 'model.type is "Unigram"; "WordPiece" is needed here'),
        ("vocabulary", {"model": {"max_input_chars_per_word": 10}}, "model.max_input_chars_per_word is 10; 100 is"),
        ("vocabulary", {"normalizer": {"lowercase": False}}, "normalizer.lowercase is false; true is needed here"),
        ("vocabulary", {"normalizer": {"strip_accents": False}}, "strip_accents is false; null is needed here"),
        ("vocabulary", {"normalizer": {"handle_chinese_chars": False}}, "handle_chinese_chars is false; true is"),
        ("vocabulary", {"normalizer": {"clean_text": False}}, "clean_text is false; true is needed here"),
        ("vocabulary", {"pre_tokenizer": {"type": "Whitespace"}}, 'is "Whitespace"; "BertPreTokenizer" is needed'),
        ("vocabulary", {"model": {"vocab": {"a": 1}}}, "model.vocab: a mapping of pieces to their numbers is needed"),
        ("vocabulary", {"added_tokens": ADDED}, "added_tokens: 'lowest': matched in texts before these are split"),
        ("byte_bpe", {"pre_tokenizer": {"add_prefix_space": True}}, "add_prefix_space is true; false is needed"),
        ("byte_bpe", {"pre_tokenizer": {"use_regex": False}}, "use_regex is false; true is needed here"),
        ("byte_bpe", {"normalizer": {"type": "NFC"}}, 'normalizer.type is "NFC"; null is needed here'),
        ("byte_bpe", {"model": {"ignore_merges": True}}, "model.ignore_merges is true; false is needed here"),
        ("byte_bpe", {"model": {"dropout": 0.1}}, "model.dropout is 0.1; null is needed here"),
        ("bpe", {"model": {"fuse_unk": True}}, "model.fuse_unk is true; false is needed here"),
        ("bpe", {"model": {"byte_fallback": True}}, "model.byte_fallback is true; false is needed here"),
        ("bpe", {"model": {"unk_token": None}}, 'model.unk_token is null; "[UNK]" is needed here'),
        ("bpe", {"normalizer": {"lowercase": False}}, "normalizer.lowercase is false; true is needed here"),
        ("bpe", {"normalizer": None}, 'normalizer.type is null; "BertNormalizer" is needed here'),
    ],
)
def test_what_would_tokenize_otherwise_is_refused(
    kind: str, change: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    written(path, kind)
    changed(path, change)
    with pytest.raises(DataError) as refused:
        OPTIONS[kind](str(path)).inputs()
    assert message in "\n".join(refused.value.lines)
    assert len(refused.value.lines) == 1


def test_a_vocabulary_without_merges_has_its_characters_alone(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    written(path, "byte_bpe")
    changed(path, {"model": {"merges": []}})
    option = OPTIONS["byte_bpe"](str(path))
    words = option.tokenizer([], 300)
    assert [words.pieces[number] for number in words.encode(["town"])[0]] == [*"town"]
    changed(path, {"model": {"merges": [["q", "q"]]}})
    with pytest.raises(DataError, match=r"tokenizer\.json:1: 'qq' is not in tokenizer\.json"):
        option.inputs()
