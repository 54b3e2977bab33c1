"""tokenizer.json as a given vocabulary: the same tokens as the library's own, and what differs is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.tokenizer import ByteBpeOption, GivenVocabulary

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


@pytest.mark.parametrize("kind", ["vocabulary", "byte_bpe"])
def test_a_tokenizer_file_gives_the_librarys_tokens(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    reference = written(path, kind)
    option = GivenVocabulary(path=str(path)) if kind == "vocabulary" else ByteBpeOption(path=str(path))
    assert isinstance(option.inputs(), dict)
    assert option.tokenizer([], 300).encode(TEXTS) == [each.ids for each in reference.encode_batch(TEXTS)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"type": "Unigram"}}, 'model.type is "Unigram"; "WordPiece" is needed here'),
        ({"normalizer": {"lowercase": False}}, "normalizer.lowercase is false; true is needed here"),
        (
            {"pre_tokenizer": {"type": "Whitespace"}},
            'pre_tokenizer.type is "Whitespace"; "BertPreTokenizer" is needed',
        ),
        ({"model": {"vocab": {"a": 1}}}, "model.vocab: a mapping of pieces to their numbers is needed"),
    ],
)
def test_what_would_tokenize_otherwise_is_refused(
    change: dict[str, dict[str, object]], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    written(path, "vocabulary")
    document = json.loads(path.read_text())
    for section, values in change.items():
        document[section] |= values
    path.write_text(json.dumps(document))
    with pytest.raises(DataError) as refused:
        GivenVocabulary(path=str(path)).inputs()
    assert message in "\n".join(refused.value.lines)
