"""A lexicon of supersenses: a file of words and the semantic classes that each may have, such as WordNet's.

Two layouts, both UTF-8 text separated by tabs, perhaps compressed (`.gz`, `.xz`): `word<TAB>sense,sense`, one word to
a line; or a table with a header that names the columns `lemma` and `lexname`, one sense to a line.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic import Field

from foundation.errors import DataError
from foundation.schema import JsonValue, Schema
from tasks.corpora.file_lines import check_signature, text_lines
from tasks.data_folder import missing, resolved
from tasks.labelled.mistakes import Mistakes
from tasks.lexicon.inflections import RULES, base_forms
from tasks.lexicon.stop_words import STOP_WORDS

READING_VERSION = 1  # incremented when the same file gives other senses
WORD_COLUMN, SENSE_COLUMN = "lemma", "lexname"
SHORTEST_WORD = 4
"""Letters of the shortest word with supersenses; shorter ones have none, and stop words neither (SenseBERT)."""
WANTED = "a lexicon is a file of lines `word<TAB>sense,sense`, or the lemmas of WordNet by lexicographer file"


class Lexicon(Schema):
    """A file with the supersenses of words, for architectures with `supersenses` and the objective `supersense`."""

    path: str = Field(min_length=1, examples=["$STEEPLECHASE_DATA/supersense/oewn/lemma_lexnames.tsv.xz"])
    """A file of lines `word<TAB>sense,sense`, or a table with the columns `lemma` and `lexname`; perhaps .gz or .xz.

    `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets, `data` where the variable is unset.
    """

    def inputs(self) -> JsonValue:
        """Return the sha256 of the file; raises DataError if it cannot be read."""
        path = self.located()
        try:
            with path.open("rb") as file:
                return {"reading_version": READING_VERSION, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        except OSError as failure:
            raise DataError(f"{path}: {failure.strerror}") from failure

    def located(self) -> Path:
        """Return the file. Raises DataError if there is none."""
        path = resolved(self.path)
        if not path.is_file():
            raise missing(f"{path}: no such file; {WANTED}")
        return path

    def read(self) -> "Supersenses":
        """Return the lexicon. Raises DataError with every mistake of the file."""
        path = self.located()
        return _read(path, path.stat().st_mtime_ns)

    def refuse_other_than(self, supersenses: int) -> None:
        """Raise DataError if the lexicon has another number of supersenses than an architecture."""
        names = self.read().names
        if len(names) != supersenses:
            message = f"{len(names)} supersenses; the architecture has supersenses: {supersenses}"
            raise DataError(f"{resolved(self.path)}: {message}")


@dataclass(frozen=True)
class Supersenses:
    """The supersenses by name, and those of every word of the lexicon, in lower case."""

    names: tuple[str, ...]
    """In alphabetical order."""
    of_words: dict[str, frozenset[int]]
    """Indices into `names`."""

    def allowed(self, word: str) -> frozenset[int]:
        """Return the supersenses that a word may have; none for short words, stop words and unknown ones.

        Those of the base forms of an inflected word are among them: nouns', verbs' and adjectives', where senses are
        named by their part of speech, such as `noun.person`.
        """
        word = word.lower()
        if len(word) < SHORTEST_WORD or word in STOP_WORDS:
            return frozenset()
        found = set(self.of_words.get(word, ()))
        for part_of_speech in RULES:
            for form in base_forms(word, part_of_speech, self.of_words):
                found |= {sense for sense in self.of_words[form] if self._is(sense, part_of_speech)}
        return frozenset(found)

    def _is(self, sense: int, part_of_speech: str) -> bool:
        return self.names[sense].partition(".")[0] == part_of_speech


@lru_cache(maxsize=2)
def _read(path: Path, modified: int) -> Supersenses:
    """Return the lexicon of a file; `modified` is part of the cache's key."""
    check_signature(path, path.name, path.suffix if path.suffix in (".gz", ".xz") else "")
    mistakes = Mistakes(path.name)
    senses_of: defaultdict[str, set[str]] = defaultdict(set)
    for word, senses in _entries(text_lines(path, path.name), mistakes):
        senses_of[word.lower()].update(senses)
    if not senses_of and not mistakes.count:
        mistakes.add(1, f"the file has no words; {WANTED}")
    mistakes.refuse()
    names = tuple(sorted({sense for senses in senses_of.values() for sense in senses}))
    index = {name: number for number, name in enumerate(names)}
    return Supersenses(names, {word: frozenset(index[sense] for sense in senses_of[word]) for word in senses_of})


def _entries(lines: Iterable[tuple[int, str]], mistakes: Mistakes) -> Iterator[tuple[str, list[str]]]:
    """Yield each word with senses of it; the first line decides the layout."""
    columns: tuple[int, int] | None = None
    width = 2
    for number, line in lines:
        cells = line.split("\t")
        if number == 1 and {WORD_COLUMN, SENSE_COLUMN} <= {*cells}:
            columns, width = (cells.index(WORD_COLUMN), cells.index(SENSE_COLUMN)), len(cells)
            continue
        if not line.strip():
            continue
        if len(cells) != width:
            mistakes.add(number, f"{len(cells)} columns, expected {width} separated by tabs")
            continue
        word, listed = (cells[column].strip() for column in columns or (0, 1))
        senses = [sense.strip() for sense in listed.split(",")]
        if not word or not all(senses):
            mistakes.add(number, "a word without a sense" if word else "a sense without a word")
            continue
        yield word, senses
