"""A lexicon file: words with what each may be, in one of two layouts, both UTF-8 text separated by tabs.

Either `word<TAB>value,value`, one word to a line; or a table with a header that names the column of words, `lemma`,
and the column of values, one value to a line. The file may be compressed (`.gz`, `.xz`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from steeplechase.tasks.corpora.file_lines import check_packed_signature, text_lines
from steeplechase.tasks.data_folder import DeclaredFile
from steeplechase.tasks.labelled.delimited import rows_of_columns
from steeplechase.tasks.labelled.mistakes import Mistakes

WORD_COLUMN = "lemma"


class LexiconFile(DeclaredFile):
    """A declared lexicon: its file, and how it is laid out."""

    column: ClassVar[str]
    """The column of values in a table."""
    value: ClassVar[str]
    """What a value is called in messages, such as `sense`."""

    @classmethod
    def values_of_words(cls, path: Path) -> Mapping[str, set[str]]:
        """Return the values of every word, in lower case. Raises DataError with every mistake of the file."""
        check_packed_signature(path, path.name)
        mistakes = Mistakes(path.name)
        values: defaultdict[str, set[str]] = defaultdict(set)
        for word, found in cls._entries(text_lines(path, path.name), mistakes):
            values[word.lower()].update(found)
        mistakes.refuse(f"the file has no words; {cls.wanted}" if not values else "")
        return values

    @classmethod
    def _entries(cls, lines: Iterable[tuple[int, str]], mistakes: Mistakes) -> Iterator[tuple[str, list[str]]]:
        """Yield each word with values of it."""
        for number, _, (word, listed) in rows_of_columns(lines, (WORD_COLUMN, cls.column), mistakes):
            values = [value.strip() for value in listed.split(",")]
            if not word or not all(values):
                mistakes.add(number, f"a word without a {cls.value}" if word else f"a {cls.value} without a word")
                continue
            yield word, values
