"""The byte-level BPE of a Hugging Face folder (vocab.json and merges.txt, tokenizer.json), as RoBERTa's.

Source: transformers 5.23, tokenization_roberta.py; tokenizers' JSON format.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steeplechase.commands.huggingface.found_vocabulary import (
    TOKENIZER,
    FoundVocabulary,
    is_numbered,
    read_json,
    section,
)
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.tokenizer import ByteBpe
from steeplechase.tasks.vocabulary import MERGES_FILE, NUMBERED_FILE, read_merges, without_special

Merges = list[tuple[str, str]]
MOST_SHOWN = 5


def is_byte_bpe(folder: Path, document: dict[str, Any]) -> bool:
    """Return whether a folder's tokenizer, whose tokenizer.json is `document`, merges bytes."""
    files = any((folder / name).exists() for name in (NUMBERED_FILE, MERGES_FILE))
    return files or section(document, "pre_tokenizer").get("type") == "ByteLevel"


def find_byte_bpe(folder: Path, vocabulary_size: int | None) -> FoundVocabulary:
    """Read the vocabulary and the merges of a folder; `vocabulary_size` is the maximum number of pieces."""
    document, reasons = read_json(folder / TOKENIZER, missing_ok=True)
    found: list[tuple[list[str], Merges]] = []
    has_files = any((folder / name).exists() for name in (NUMBERED_FILE, MERGES_FILE))
    if has_files:
        try:
            found.append(read_merges(folder, vocabulary_size))
        except DataError as refusal:
            reasons += refusal.lines
    if document:
        mistakes = [*_mistakes(document, vocabulary_size)]
        reasons += tuple(f"{folder / TOKENIZER}: {line}" for line in mistakes)
        if not mistakes:
            found.append((_pieces(document), _merges(document)))
    if len(found) == 2 and found[0] != found[1]:
        reasons += (f"{folder}: {NUMBERED_FILE} and {TOKENIZER} have different vocabularies; remove the wrong one",)
    if reasons:
        return FoundVocabulary(None, (), reasons)
    sources = (NUMBERED_FILE, MERGES_FILE) * has_files + (TOKENIZER,) * bool(document)
    return FoundVocabulary(ByteBpe(*found[0], False), sources, ())


def _mistakes(document: dict[str, Any], largest: int | None) -> Iterator[str]:
    """Yield the settings of a tokenizer.json that differ from RoBERTa's, and what its vocabulary lacks."""
    model, splitting = section(document, "model"), section(document, "pre_tokenizer")
    settings = {
        "model.type": (model.get("type"), "BPE"),
        "model.dropout": (model.get("dropout"), None),
        "model.continuing_subword_prefix": (model.get("continuing_subword_prefix") or None, None),
        "model.end_of_word_suffix": (model.get("end_of_word_suffix") or None, None),
        "normalizer": (document.get("normalizer"), None),
        "pre_tokenizer.type": (splitting.get("type"), "ByteLevel"),
        "pre_tokenizer.add_prefix_space": (splitting.get("add_prefix_space"), False),
        "pre_tokenizer.use_regex": (splitting.get("use_regex", True), True),
    }
    for name, (value, expected) in settings.items():
        if value != expected:
            yield f"{name}: {value!r} cannot be read; allowed: {expected!r}, as RoBERTa's"
    if not is_numbered(model.get("vocab")):
        yield "model.vocab: the pieces are not numbered from 0 without gaps"
        return
    vocabulary = model["vocab"]
    if largest is not None and len(vocabulary) > largest:
        yield f"model.vocab: {len(vocabulary)} pieces, but the model has a vocab_size of {largest}"
    yield from without_special("model.vocab", vocabulary)
    yield from _merge_mistakes(model.get("merges"), vocabulary)


def _merge_mistakes(merges: object, vocabulary: dict[str, int]) -> Iterator[str]:
    if not isinstance(merges, list) or not all(_pair(merge) for merge in merges):
        yield "model.merges: a list of pairs of pieces is needed"
        return
    unknown = [pair for pair in map(_pair, merges) if pair and not {*pair, "".join(pair)} <= vocabulary.keys()]
    for pair in unknown[:MOST_SHOWN]:
        yield f"model.merges: {' '.join(pair)!r} is of pieces that are not in the vocabulary"


def _pair(merge: object) -> tuple[str, str] | None:
    """Return a merge, which is a list of two pieces or both with a space between them; None if it is neither."""
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if isinstance(parts, list) and len(parts) == 2 and all(isinstance(part, str) and part for part in parts):
        return parts[0], parts[1]
    return None


def _pieces(document: dict[str, Any]) -> list[str]:
    vocabulary: dict[str, int] = document["model"]["vocab"]
    return sorted(vocabulary, key=vocabulary.__getitem__)


def _merges(document: dict[str, Any]) -> Merges:
    return [pair for merge in document["model"]["merges"] if (pair := _pair(merge))]
