"""The SentencePiece unigram model of a Hugging Face folder (tokenizer.json or spiece.model), as ALBERT's and XLNet's.

Source: transformers 5.23, tokenization_albert.py and tokenization_xlnet.py; tokenizers' JSON format.
"""

import base64
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from steeplechase.commands.huggingface.found_vocabulary import (
    TOKENIZER,
    TOKENIZER_CONFIG,
    FoundVocabulary,
    read_json,
    section,
)
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.tokenizer import SentencePiece
from steeplechase.tasks.tokenizer.sentencepiece import Normalisation, Step, checked_normalisation, read_model
from steeplechase.tasks.tokenizer.unigram import SPACE
from steeplechase.tasks.vocabulary import special_pieces, without_special

MODEL_FILE, CONFIG = "spiece.model", "config.json"
Rows = list[tuple[str, float]]
"""Pieces with their log-probabilities."""
UNKNOWN = 1
"""The place of the unknown token among the special pieces."""


def is_sentencepiece(folder: Path, document: dict[str, Any]) -> bool:
    """Return whether a folder's tokenizer, whose tokenizer.json is `document`, is a unigram model."""
    if document:
        return section(document, "model").get("type") == "Unigram"
    return (folder / MODEL_FILE).exists()


def find_sentencepiece(folder: Path, vocabulary_size: int | None) -> FoundVocabulary:
    """Read the pieces, scores and normalisation of a folder; `vocabulary_size` is the maximum number of pieces."""
    document, reasons = read_json(folder / TOKENIZER, missing_ok=True)
    if reasons:
        return FoundVocabulary(None, (), reasons)
    name = TOKENIZER if document else MODEL_FILE
    try:
        rows, normalisation = _of_document(document) if document else _of_model(folder)
    except DataError as refusal:
        return FoundVocabulary(None, (), tuple(f"{folder / name}: {line}" for line in refusal.lines))
    mistakes = [*_vocabulary_mistakes(rows, normalisation.whole, vocabulary_size)]
    if not mistakes and document and section(document, "model").get("unk_id") != _unknown(rows):
        mistakes.append("model.unk_id is not the number of the unknown piece")
    if mistakes:
        return FoundVocabulary(None, (), tuple(f"{folder / name}: {line}" for line in mistakes))
    pieces, scores = [piece for piece, _ in rows], [score for _, score in rows]
    return FoundVocabulary(SentencePiece(pieces, scores, normalisation), (name,), ())


def _of_document(document: dict[str, Any]) -> tuple[Rows, Normalisation]:
    """Return the pieces and the steps in a tokenizer.json. Raises DataError with all that cannot be read."""
    model, splitting = section(document, "model"), document.get("pre_tokenizer")
    lines = []
    if model.get("byte_fallback"):
        lines.append("model.byte_fallback: true cannot be read; unknown characters are one piece here")
    if not _splits_at_spaces(splitting):
        lines.append("pre_tokenizer: only WhitespaceSplit and a Metaspace that begins every word can be read")
    rows = model.get("vocab")
    if not isinstance(rows, list) or not all(_is_row(row) for row in rows):
        lines.append("model.vocab: a list of pieces, each with its log-probability, is needed")
    normaliser = document.get("normalizer")
    steps = [] if normaliser is None else section(document, "normalizer").get("normalizers", [normaliser])
    added = document.get("added_tokens") or []
    whole = [each["content"] for each in added if not each.get("special")]
    if unread := [each["content"] for each in added if not each.get("special") and _is_changed(each)]:
        lines.append(f"added_tokens: {unread[0]!r} is matched with spaces, as a word, or in normalised text")
    try:
        normalisation = checked_normalisation(steps, whole)
    except DataError as refusal:
        lines += [f"normalizer: {line}" for line in refusal.lines]
    if lines:
        raise DataError(lines)
    return [(str(piece), float(score)) for piece, score in rows or ()], normalisation


def _is_changed(added: dict[str, Any]) -> bool:
    return any(added.get(name) for name in ("lstrip", "rstrip", "single_word", "normalized"))


def _is_row(row: object) -> bool:
    if not isinstance(row, list) or len(row) != 2:
        return False
    return isinstance(row[0], str) and isinstance(row[1], int | float) and math.isfinite(row[1])


def _splits_at_spaces(splitting: object) -> bool:
    """Return whether text is split at white space and every word begins with the mark of a space."""
    steps = section({"split": splitting}, "split").get("pretokenizers") or [splitting]
    kinds = [section({"step": step}, "step") for step in steps]
    if [kind.get("type") for kind in kinds] != ["WhitespaceSplit", "Metaspace"]:
        return False
    scheme = kinds[-1].get("prepend_scheme", "always" if kinds[-1].get("add_prefix_space", True) else "never")
    return kinds[-1].get("replacement") == SPACE and scheme == "always"


def _of_model(folder: Path) -> tuple[Rows, Normalisation]:
    """Return the pieces of spiece.model, and the steps that transformers takes before its own table.

    Pieces that its trainer defined are segmented like others, as SentencePiece itself does.
    """
    model = read_model(folder / MODEL_FILE)
    settings, mistakes = read_json(folder / TOKENIZER_CONFIG, missing_ok=True)
    config, _ = read_json(folder / CONFIG, missing_ok=True)
    if mistakes:
        raise DataError(mistakes)
    lowers = settings.get("do_lower_case", config.get("model_type") == "albert")
    steps: list[Step] = [
        {"type": "Replace", "pattern": {"String": quotes}, "content": '"'} for quotes in ("``", "''")
    ]
    if not settings.get("keep_accents", False):
        steps += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if lowers:
        steps.append({"type": "Lowercase"})
    if model.character_table:
        table = base64.b64encode(model.character_table).decode("ascii")
        steps.append({"type": "Precompiled", "precompiled_charsmap": table})
    return list(zip(model.pieces, model.scores, strict=True)), checked_normalisation(steps, [])


def _vocabulary_mistakes(rows: Rows, whole: Sequence[str], largest: int | None) -> Iterator[str]:
    pieces = [piece for piece, _ in rows]
    if absent := [piece for piece in whole if piece not in pieces]:
        yield f"added_tokens: {absent[0]!r} is not in the vocabulary"
    if largest is not None and len(pieces) > largest:
        yield f"{len(pieces)} pieces, but the model has a vocab_size of {largest}"
    repeated = sorted({piece for piece in pieces if pieces.count(piece) > 1}) if len({*pieces}) < len(pieces) else []
    if repeated:
        yield f"the piece {repeated[0]!r} is there twice"
    unwritable = [piece for piece in pieces if not piece or piece.strip(" \t\x00") != piece or "\n" in piece]
    if unwritable:
        yield f"the piece {unwritable[0]!r} is empty or has spaces around it"
    yield from without_special("the pieces", pieces)


def _unknown(rows: Rows) -> int:
    pieces = [piece for piece, _ in rows]
    return pieces.index(special_pieces({*pieces})[UNKNOWN])
