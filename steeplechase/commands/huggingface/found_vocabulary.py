"""What the vocabulary of a Hugging Face folder was found to be, and how its JSON files are read."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steeplechase.foundation.atomic_files import read_bounded
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.tokenizer import Tokenizer

LARGEST_JSON_BYTES = 2**28
"""Published tokenizers have up to 34 million."""
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"


@dataclass(frozen=True)
class FoundVocabulary:
    """The tokenizer, or the errors; neither without files."""

    tokenizer: Tokenizer | None
    sources: tuple[str, ...]
    """Files read."""
    reasons: tuple[str, ...]


def read_json(path: Path, missing_ok: bool = False) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a JSON mapping, or an empty one with the error."""
    if missing_ok and not path.exists():
        return {}, ()
    try:
        document = json.loads(read_bounded(path, LARGEST_JSON_BYTES))
    except DataError as large:
        return {}, large.lines
    except OSError as error:
        return {}, (f"{path}: {error.strerror}",)
    except (ValueError, RecursionError):
        return {}, (f"{path}: is not JSON",)
    return (document, ()) if isinstance(document, dict) else ({}, (f"{path}: a mapping is needed",))


def section(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a mapping inside a document, an empty one where there is none."""
    found = document.get(name)
    return found if isinstance(found, dict) else {}
