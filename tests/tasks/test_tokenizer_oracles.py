"""Byte pairs as RoBERTa and GPT, pieces as ALBERT and as the exhaustive search."""

import lzma
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from steeplechase.tasks.tokenizer import BpeOption, ByteBpe, ByteBpeOption, train_tokenizer
from tests.factories.published_data import published
from tests.factories.tokenizers import TEXTS, trained, unknown_in


def published_lines() -> Sequence[str]:
    text = lzma.decompress(published("text/wikipedia_en_2015/AA/wiki_00.xz").read_bytes()).decode("utf-8")
    return [line.strip() for line in text.splitlines()[:600] if line.strip()]


def test_bytes_are_encoded_as_robertas(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="the oracle is transformers")
    lines = published_lines()
    words = train_tokenizer(ByteBpeOption(), lines[:200], 1000)
    words.save(tmp_path)
    vocabulary, merges = (str(tmp_path / name) for name in ByteBpe.file_names)
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), words.special_pieces, strict=True))
    theirs = transformers.RobertaTokenizerFast(vocabulary, merges, **{f"{key}_token": n for key, n in names.items()})
    assert words.encode(lines) == theirs(lines, add_special_tokens=False)["input_ids"]
    slow = transformers.GPT2Tokenizer(vocabulary, merges, unk_token="[UNK]")
    assert words.encode(lines) == slow(lines, add_special_tokens=False)["input_ids"]


def test_merges_are_those_of_gpt(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="the oracle is transformers")
    lines = published_lines()
    words = train_tokenizer(BpeOption(), lines[:200], 1000)
    words.save(tmp_path)
    vocabulary, merges = (str(tmp_path / name) for name in ByteBpe.file_names)
    theirs = transformers.OpenAIGPTTokenizer(vocabulary, merges, unk_token="[UNK]")
    plain = [line for line in lines if not unknown_in(words, line)]
    assert len(plain) > 100
    assert words.encode(plain) == theirs(plain, add_special_tokens=False)["input_ids"]


def test_pieces_are_those_of_albert() -> None:
    transformers = pytest.importorskip("transformers", reason="the oracle is transformers")
    words = trained("unigram")
    vocabulary = list(zip(words.pieces, words.scores, strict=True))  # type: ignore[attr-defined]
    theirs = transformers.AlbertTokenizer(vocabulary, unk_token="[UNK]", pad_token="[PAD]")
    plain = [line for line in (*TEXTS[:4], *published_lines()) if line.isascii() and "<" not in line]
    plain = [line for line in plain if not unknown_in(words, line)]
    assert len(plain) > 20
    assert words.encode(plain) == theirs(plain, add_special_tokens=False)["input_ids"]


SAMPLE = [line for line in TEXTS if "[" not in line and "<" not in line]


def test_pieces_are_those_of_the_most_probable_segmentation() -> None:
    """An oracle by its definition: the maximum over all segmentations of every word, by exhaustive search."""
    words = trained("unigram")
    scores = dict(zip(words.pieces, words.scores, strict=True))  # type: ignore[attr-defined]

    def best(word: str) -> float:
        heads = [(scores[word[:end]], word[end:]) for end in range(1, len(word) + 1) if word[:end] in scores]
        return max((score + best(rest) for score, rest in heads), default=-np.inf) if word else 0.0

    for word in {word for text in SAMPLE for word in text.lower().split() if word.isascii()}:
        (tokens,) = words.encode([word])
        if words.unknown not in tokens:
            ours = sum(scores[words.pieces[token]] for token in tokens)
            assert ours == pytest.approx(best(f"▁{word}"), abs=1e-9)
