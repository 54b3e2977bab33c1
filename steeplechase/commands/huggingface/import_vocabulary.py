"""The vocabulary of a Hugging Face folder: WordPiece (vocab.txt, tokenizer.json), byte-level BPE or unigram.

Source: transformers 5.23, tokenization_bert.py (ELECTRA and ConvBERT use the same); tokenizers' JSON format.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from steeplechase.commands.huggingface.found_vocabulary import (
    TOKENIZER,
    TOKENIZER_CONFIG,
    FoundVocabulary,
    read_json,
    section,
)
from steeplechase.commands.huggingface.import_sentencepiece import find_sentencepiece, is_sentencepiece
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.tokenizer import VOCABULARY_FILE, ByteBpe, WordPiece
from steeplechase.tasks.tokenizer.byte_bpe import SETTINGS
from steeplechase.tasks.tokenizer.wordpiece import wordpiece_settings
from steeplechase.tasks.vocabulary import MERGES_FILE, NUMBERED_FILE, read_merges, read_vocabulary

T = TypeVar("T")
KINDS = "BERT's WordPiece, RoBERTa's byte-level BPE and ALBERT's unigram are the kinds that can be read"
OF_NORMALISER = ("strip_accents", "tokenize_chinese_chars")
"""Settings of tokenizer_config.json that a tokenizer.json has in its own words."""


def find_vocabulary(folder: Path, vocabulary_size: int | None) -> FoundVocabulary:
    """Read the vocabulary of a folder; `vocabulary_size` is the maximum number of pieces, from the model."""
    document, unreadable = read_json(folder / TOKENIZER, missing_ok=True)
    written = (TOKENIZER,) * bool(document)
    has_merges = any((folder / name).exists() for name in (NUMBERED_FILE, MERGES_FILE))
    if has_merges or section(document, "pre_tokenizer").get("type") == "ByteLevel":
        sources = (NUMBERED_FILE, MERGES_FILE) * has_merges + written
        return _byte_bpe(folder, sources, vocabulary_size, unreadable)
    if is_sentencepiece(folder, document):
        return find_sentencepiece(folder, vocabulary_size)
    settings, unreadable_settings = read_json(folder / TOKENIZER_CONFIG, missing_ok=True)
    reasons = [*unreadable, *unreadable_settings]
    if document:
        settings = {name: value for name, value in settings.items() if name not in OF_NORMALISER}
        if section(document, "model").get("type") != "WordPiece":
            reasons.append(f"{folder / TOKENIZER}: {KINDS}")
    lower = section(document, "normalizer").get("lowercase") if document else settings.get("do_lower_case", True)
    lowercase, expected = bool(lower), wordpiece_settings(bool(lower))
    sources = (VOCABULARY_FILE,) * (folder / VOCABULARY_FILE).exists() + written
    found, mistakes = _read(folder, sources, lambda path: read_vocabulary(path, vocabulary_size, expected))
    reasons += mistakes or _wrong_settings(folder, settings, lowercase)
    tokenizer = WordPiece(found[0], lowercase) if found and not reasons else None
    return FoundVocabulary(tokenizer, () if mistakes else sources, tuple(reasons))


def _byte_bpe(
    folder: Path, sources: tuple[str, ...], vocabulary_size: int | None, unreadable: Sequence[str]
) -> FoundVocabulary:
    """Read the vocabulary and the merges in vocab.json and merges.txt, in tokenizer.json, or in both."""

    def merges_in(path: Path) -> tuple[list[str], list[tuple[str, str]]]:
        return read_merges(path if path.name == TOKENIZER else folder, vocabulary_size, SETTINGS)

    found, mistakes = _read(folder, [name for name in sources if name != MERGES_FILE], merges_in)
    if reasons := (*unreadable, *mistakes):
        return FoundVocabulary(None, (), reasons)
    return FoundVocabulary(ByteBpe(*found[0], False), sources, ())


def _read(folder: Path, names: Sequence[str], read: Callable[[Path], T]) -> tuple[list[T], list[str]]:
    """Return what each file has, and the mistakes of all; that two files differ is one."""
    found, reasons = list[T](), list[str]()
    for name in names:
        try:
            found.append(read(folder / name))
        except DataError as refusal:
            reasons += refusal.lines
    if len(found) == 2 and found[0] != found[1]:
        reasons.append(f"{folder}: {' and '.join(names)} have different vocabularies; remove the wrong one")
    return found, reasons


def _wrong_settings(folder: Path, settings: dict[str, Any], lowercase: bool) -> Iterator[str]:
    if settings.get("do_lower_case", lowercase) is not lowercase:
        yield f"{folder}: {TOKENIZER} and {TOKENIZER_CONFIG} have different values of do_lower_case; make them equal"
    strips = settings.get("strip_accents")
    if strips is not None and strips != lowercase:
        yield f"{folder}: strip_accents: {strips!r} cannot be read; accents go exactly where letters are lowered"
    if settings.get("tokenize_chinese_chars", True) is not True:
        yield f"{folder}: tokenize_chinese_chars: false cannot be read; each Chinese character is a word here"
    if settings.get("do_basic_tokenize", True) is not True:
        yield f"{folder}: do_basic_tokenize: false cannot be read; {KINDS}"
