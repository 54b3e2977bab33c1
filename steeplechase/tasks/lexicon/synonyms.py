"""Synonyms of words from a file, such as the synsets of WordNet.

The two layouts are those of `tasks/lexicon/lexicon_file.py`: `word<TAB>synonym,synonym`, one direction to a line; or
a table with the columns `lemma` and `synset`, in which the words of one synset are synonyms of each other.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from steeplechase.tasks.corpora.file_lines import text_lines
from steeplechase.tasks.lexicon.lexicon_file import WORD_COLUMN, LexiconFile


class Synonyms(LexiconFile):
    """A file with the synonyms of words."""

    wanted: ClassVar[str] = (
        "a file of synonyms has lines `word<TAB>synonym,synonym`, or the columns `lemma` and `synset` of WordNet"
    )
    column, value = "synset", "synonym"
    path: str = Field(min_length=1, examples=["$STEEPLECHASE_DATA/supersense/oewn/lemma_lexnames.tsv.xz"])
    """A file of lines `word<TAB>synonym,synonym`, or a table with columns `lemma` and `synset`; perhaps .gz or .xz.

    `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets, `data` where the variable is unset.
    """

    def read(self) -> Mapping[str, tuple[str, ...]]:
        """Return the synonyms of every word, sorted, single words of letters in lower case alone.

        Raises DataError with every mistake of the file.
        """
        path = self.located()
        return _read_synonyms(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _read_synonyms(path: Path, modified: int) -> Mapping[str, tuple[str, ...]]:
    """Return the synonyms of a file; `modified` is part of the cache's key."""
    values = {word: found for word, found in Synonyms.values_of_words(path).items() if word.isalpha()}
    if _is_table(path):
        words_of: defaultdict[str, set[str]] = defaultdict(set)
        for word, synsets in values.items():
            for synset in synsets:
                words_of[synset].add(word)
        values = {word: set().union(*(words_of[each] for each in synsets)) for word, synsets in values.items()}
    lowered = {word: {each.lower() for each in found if each.isalpha()} - {word} for word, found in values.items()}
    return {word: tuple(sorted(found)) for word, found in lowered.items() if found}


def _is_table(path: Path) -> bool:
    for _, line in text_lines(path, path.name):
        return {WORD_COLUMN, Synonyms.column} <= {*line.split("\t")}
    return False
