"""The vocabulary of a Hugging Face folder: WordPiece (vocab.txt, tokenizer.json), byte-level BPE or unigram.

Source: transformers 5.23, tokenization_bert.py (ELECTRA and ConvBERT use the same); tokenizers' JSON format.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steeplechase.commands.huggingface.found_vocabulary import (
    TOKENIZER,
    TOKENIZER_CONFIG,
    FoundVocabulary,
    is_numbered,
    read_json,
    section,
)
from steeplechase.commands.huggingface.import_sentencepiece import find_sentencepiece, is_sentencepiece
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.tokenizer import LONGEST_WORD_CHARACTERS, VOCABULARY_FILE, ByteBpe, WordPiece
from steeplechase.tasks.vocabulary import (
    MERGES_FILE,
    NUMBERED_FILE,
    SPECIAL_TOKENS,
    read_merges,
    read_vocabulary,
    without_special,
)

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
        mistakes = [*_bpe_mistakes(document, vocabulary_size)]
        reasons += tuple(f"{folder / TOKENIZER}: {line}" for line in mistakes)
        if not mistakes:
            found.append((_pieces(document), _merges(document)))
    if len(found) == 2 and found[0] != found[1]:
        reasons += (f"{folder}: {NUMBERED_FILE} and {TOKENIZER} have different vocabularies; remove the wrong one",)
    if reasons:
        return FoundVocabulary(None, (), reasons)
    sources = (NUMBERED_FILE, MERGES_FILE) * has_files + (TOKENIZER,) * bool(document)
    return FoundVocabulary(ByteBpe(*found[0], False), sources, ())


def _bpe_mistakes(document: dict[str, Any], largest: int | None) -> Iterator[str]:
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


def _merges(document: dict[str, Any]) -> Merges:
    return [pair for merge in document["model"]["merges"] if (pair := _pair(merge))]


NOT_WORDPIECE = "BERT's WordPiece, RoBERTa's byte-level BPE and ALBERT's unigram are the kinds that can be read"


def find_vocabulary(folder: Path, vocabulary_size: int | None) -> FoundVocabulary:
    """Read the vocabulary of a folder; `vocabulary_size` is the maximum number of pieces, from the model."""
    document, document_mistakes = read_json(folder / TOKENIZER, missing_ok=True)
    if is_byte_bpe(folder, document):
        return find_byte_bpe(folder, vocabulary_size)
    if is_sentencepiece(folder, document):
        return find_sentencepiece(folder, vocabulary_size)
    plain, pieces_mistakes = _from_text(folder / VOCABULARY_FILE, vocabulary_size)
    settings, settings_mistakes = read_json(folder / TOKENIZER_CONFIG, missing_ok=True)
    reasons = [*pieces_mistakes, *document_mistakes, *settings_mistakes]
    if document:
        reasons += (f"{folder / TOKENIZER}: {line}" for line in _mistakes(document))
    if reasons:
        return FoundVocabulary(None, (), tuple(reasons))
    ordered = _pieces(document) if document else plain
    lowercase = bool(document["normalizer"]["lowercase"] if document else settings.get("do_lower_case", True))
    if document and plain and ordered != plain:
        reasons.append(
            f"{folder}: {VOCABULARY_FILE} and {TOKENIZER} have different vocabularies; remove the wrong one"
        )
    if vocabulary_size is not None and len(ordered) > vocabulary_size:
        reasons.append(f"{folder}: {len(ordered)} pieces, but the model has a vocab_size of {vocabulary_size}")
    reasons += _wrong_settings(folder, {**settings, **_as_settings(document)}, lowercase)
    sources = (VOCABULARY_FILE,) * bool(plain) + (TOKENIZER,) * bool(document)
    found = WordPiece(ordered, lowercase) if sources and not reasons else None
    return FoundVocabulary(found, sources, tuple(reasons))


def _from_text(path: Path, largest: int | None) -> tuple[list[str], tuple[str, ...]]:
    """Return the pieces of vocab.txt, none if it does not exist, and its errors."""
    if not path.exists():
        return [], ()
    try:
        return read_vocabulary(path, largest), ()
    except DataError as refusal:
        return [], refusal.lines


def _mistakes(document: dict[str, Any]) -> Iterator[str]:
    """Yield the settings of a tokenizer.json that differ from BERT's WordPiece."""
    expected = {
        ("model", "type"): "WordPiece",
        ("model", "unk_token"): "[UNK]",
        ("model", "continuing_subword_prefix"): "##",
        ("model", "max_input_chars_per_word"): LONGEST_WORD_CHARACTERS,
        ("normalizer", "type"): "BertNormalizer",
        ("normalizer", "clean_text"): True,
        ("pre_tokenizer", "type"): "BertPreTokenizer",
    }
    for (part, key), value in expected.items():
        found = section(document, part).get(key)
        if found != value:
            yield f"{part}.{key}: {found!r} cannot be read; allowed: {value!r}, {NOT_WORDPIECE}"
    if not isinstance(section(document, "normalizer").get("lowercase"), bool):
        yield "normalizer.lowercase: true or false is needed"
    vocabulary = section(document, "model").get("vocab")
    if not is_numbered(vocabulary):
        yield "model.vocab: the pieces are not numbered from 0 without gaps"
        return
    missing = [token for token in SPECIAL_TOKENS if token not in vocabulary]
    if missing:
        yield f"model.vocab: no {', '.join(missing)}; all of {', '.join(SPECIAL_TOKENS)} are needed"
    for added in document.get("added_tokens") or ():
        if added.get("content") not in vocabulary:
            yield f"added_tokens: {added.get('content')!r} is not in the vocabulary"


def _pieces(document: dict[str, Any]) -> list[str]:
    vocabulary: dict[str, int] = document["model"]["vocab"]
    return sorted(vocabulary, key=vocabulary.__getitem__)


def _as_settings(document: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the normaliser in tokenizer.json under their names in tokenizer_config.json."""
    names = {"strip_accents": "strip_accents", "handle_chinese_chars": "tokenize_chinese_chars"}
    normaliser = document.get("normalizer", {})
    return {other_name: normaliser[name] for name, other_name in names.items() if name in normaliser}


def _wrong_settings(folder: Path, settings: dict[str, Any], lowercase: bool) -> Iterator[str]:
    if settings.get("do_lower_case", lowercase) is not lowercase:
        yield f"{folder}: {TOKENIZER} and {TOKENIZER_CONFIG} have different values of do_lower_case; make them equal"
    strips = settings.get("strip_accents")
    if strips is not None and strips != lowercase:
        yield f"{folder}: strip_accents: {strips!r} cannot be read; accents go exactly where letters are lowered"
    if settings.get("tokenize_chinese_chars", True) is not True:
        yield f"{folder}: tokenize_chinese_chars: false cannot be read; each Chinese character is a word here"
    if settings.get("do_basic_tokenize", True) is not True:
        yield f"{folder}: do_basic_tokenize: false cannot be read; {NOT_WORDPIECE}"
