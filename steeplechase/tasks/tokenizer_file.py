"""Vocabularies inside a tokenizer.json, the file of transformers and tokenizers, for tokenizers that equal it.

Source: the JSON format of the library tokenizers. Settings that would tokenize otherwise are refused, not ignored.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.errors import DataError

TOKENIZER_FILE = "tokenizer.json"
Settings = Mapping[tuple[str, str], object]
"""The value that a setting has, by its section and its key."""


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


def model_of(path: Path, kind: str, settings: Settings) -> dict[str, Any]:
    """Return the section `model`. Raises DataError, all at once, for another kind of model or another setting."""
    try:
        document = json.loads(read_regular(path).decode("utf-8-sig"))
    except OSError as failure:
        raise DataError(f"{path}: {failure.strerror}") from failure
    except (ValueError, RecursionError) as wrong:
        raise DataError(f"{path}: is not JSON: {wrong}") from wrong
    sections = {
        name: document.get(name) if isinstance(document, dict) else None
        for name in ("model", "normalizer", "pre_tokenizer")
    }
    found = {name: value if isinstance(value, dict) else {} for name, value in sections.items()}
    expected: dict[tuple[str, str], object] = {("model", "type"): kind, **settings}
    mistakes = [
        f"{path}: {part}.{key} is {json.dumps(found[part].get(key))}; {json.dumps(value)} is needed here"
        for (part, key), value in expected.items()
        if found[part].get(key) != value
    ]
    if mistakes:
        raise DataError(mistakes)
    return found["model"]


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
