"""A tokenizer.json, the JSON format of the library tokenizers: its pieces and merges, and its settings.

A setting with which a text has other tokens than here is refused, not ignored. Special tokens in a text are ordinary
characters here; other added tokens, which the library matches in a text before it is split, are refused.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.errors import DataError

TOKENIZER_FILE = "tokenizer.json"
SECTIONS = ("model", "normalizer", "pre_tokenizer")
MOST_TOKENS_SHOWN = 5
Settings = Mapping[tuple[str, str], tuple[object, ...]]
"""The values that a setting may have, by its section and its key; None where it is left out."""


def is_tokenizer_file(path: Path) -> bool:
    """Return whether a path is a tokenizer.json, or a file of another name with this suffix."""
    return path.suffix == ".json" and path.is_file()


def has_model(path: Path) -> bool:
    """Return whether a tokenizer.json has a section `model`; those that this project writes have none."""
    try:
        document = json.loads(read_regular(path).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return True  # which `model_of` refuses with the reason
    return isinstance(document, dict) and "model" in document


def pieces_and_model(path: Path, kind: str, settings: Settings) -> tuple[list[str], dict[str, Any]]:
    """Return the pieces in order, special tokens that were added among them, and the section `model`.

    Raises DataError, all at once, for another kind of model, another setting, or a token that is matched in texts.
    """
    document = _document(path)
    found = {name: value if isinstance(value := document.get(name), dict) else {} for name in SECTIONS}
    expected: Settings = {("model", "type"): (kind,), **settings}
    wrong = [place for place, values in expected.items() if found[place[0]].get(place[1]) not in values]
    others = {part for part, key in wrong if key == "type"}  # whose further settings are those of another type
    mistakes = [
        f"{path}: {part}.{key} is {json.dumps(found[part].get(key))}; {needed} is needed here"
        for part, key in wrong
        if (needed := json.dumps(expected[part, key][0])) and (key == "type" or part not in others)
    ]
    mistakes += _matched_in_texts(path, document)
    if mistakes:
        raise DataError(mistakes)
    vocabulary = found["model"].get("vocab")
    if isinstance(vocabulary, dict):
        vocabulary = {**vocabulary, **{token["content"]: token.get("id") for token in _added(document)}}
    return numbered_pieces(f"{path}: model.vocab", vocabulary), found["model"]


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(read_regular(path).decode("utf-8-sig"))
    except OSError as failure:
        raise DataError(f"{path}: {failure.strerror}") from failure
    except (ValueError, RecursionError) as wrong:
        raise DataError(f"{path}: is not JSON: {wrong}") from wrong
    return document if isinstance(document, dict) else {}


def _added(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    tokens = document.get("added_tokens")
    for token in tokens if isinstance(tokens, list) else ():
        if isinstance(token, dict) and isinstance(token.get("content"), str):
            yield token


def _matched_in_texts(path: Path, document: Mapping[str, Any]) -> Iterator[str]:
    tokens = [token["content"] for token in _added(document) if not token.get("special")]
    if tokens:
        shown = ", ".join(map(repr, tokens[:MOST_TOKENS_SHOWN])) + (", …" if len(tokens) > MOST_TOKENS_SHOWN else "")
        yield (
            f"{path}: added_tokens: {shown}: matched in texts before these are split, which is not done here; take a "
            "tokenizer without added tokens"
        )


def numbered_pieces(name: str, vocabulary: object) -> list[str]:
    """Return the pieces by their numbers. Raises DataError unless each number from 0 to the last is there once.

    `vocabulary` is a mapping, or its pairs where a piece may be repeated; `name` is its place in messages.
    """
    pairs: list[Any] = [*vocabulary.items()] if isinstance(vocabulary, dict) else []
    if isinstance(vocabulary, list) and all(isinstance(each, tuple) for each in vocabulary):
        pairs = vocabulary
    numbers: dict[str, Any] = dict(pairs)
    whole = all(type(number) is int for number in numbers.values())
    if not numbers or not whole or [*range(len(pairs))] != sorted(numbers.values()):
        raise DataError(f"{name}: a mapping of pieces to their numbers is needed, each from 0 to the last once")
    return sorted(numbers, key=numbers.__getitem__)


def merges_of(path: Path, merges: object) -> list[str]:
    """Return the merges as lines of merges.txt; they are written as texts or as pairs. Raises DataError."""
    listed = merges if isinstance(merges, list) else [None]
    lines = [
        " ".join(each) if isinstance(each, list) and all(isinstance(part, str) for part in each) else each
        for each in listed
    ]
    if not all(isinstance(line, str) for line in lines):
        raise DataError(f"{path}: model.merges: a list of merges is needed")
    return [str(line) for line in lines]
