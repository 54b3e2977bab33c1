"""A lexicon file: words with what each may be, in one of two layouts, both UTF-8 text separated by tabs.

Either `word<TAB>value,value`, one word to a line; or a table with a header that names the column of words, `lemma`,
and the column of values, one value to a line. The file may be compressed (`.gz`, `.xz`).
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.tasks.corpora.file_lines import check_signature, text_lines
from steeplechase.tasks.data_folder import missing, resolved
from steeplechase.tasks.labelled.delimited import rows_of_columns
from steeplechase.tasks.labelled.mistakes import Mistakes

WORD_COLUMN = "lemma"


@dataclass(frozen=True)
class LexiconLayout:
    """What the values of a lexicon are."""

    column: str
    """The column of values in a table."""
    value: str
    """What a value is called in messages, such as `sense`."""
    wanted: str
    """What the file should be, in one sentence."""


class LexiconFile(Schema):
    """A declared lexicon: its file, how it is laid out, and its identity in keys."""

    layout: ClassVar[LexiconLayout]
    reading_version: ClassVar[int]
    """Incremented when the same file is read with another result."""
    path: str

    def inputs(self) -> JsonValue:
        """Return the sha256 of the file with the version of its reader; raises DataError if it cannot be read."""
        return _content_hash(self.located(), self.reading_version)

    def located(self) -> Path:
        """Return the file. Raises DataError if there is none."""
        found = resolved(self.path)
        if not found.is_file():
            raise missing(f"{found}: no such file; {self.layout.wanted}")
        return found


def _content_hash(path: Path, reading_version: int) -> JsonValue:
    try:
        with path.open("rb") as file:
            return {"reading_version": reading_version, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError as failure:
        raise DataError(f"{path}: {failure.strerror}") from failure


def values_of_words(path: Path, layout: LexiconLayout) -> Mapping[str, set[str]]:
    """Return the values of every word, in lower case. Raises DataError with every mistake of the file."""
    check_signature(path, path.name, path.suffix if path.suffix in (".gz", ".xz") else "")
    mistakes = Mistakes(path.name)
    values: defaultdict[str, set[str]] = defaultdict(set)
    for word, found in _entries(text_lines(path, path.name), layout, mistakes):
        values[word.lower()].update(found)
    if not values and not mistakes.count:
        mistakes.add(1, f"the file has no words; {layout.wanted}")
    mistakes.refuse()
    return values


def _entries(
    lines: Iterable[tuple[int, str]], layout: LexiconLayout, mistakes: Mistakes
) -> Iterator[tuple[str, list[str]]]:
    """Yield each word with values of it."""
    for number, _, (word, listed) in rows_of_columns(lines, (WORD_COLUMN, layout.column), mistakes):
        values = [value.strip() for value in listed.split(",")]
        if not word or not all(values):
            mistakes.add(number, f"a word without a {layout.value}" if word else f"a {layout.value} without a word")
            continue
        yield word, values
