"""A gazetteer: names of typed entities, found in the text wherever they are written; no linker is needed.

Two layouts, both UTF-8 text separated by tabs, perhaps compressed: `name<TAB>entity<TAB>type`; or the lemmas of
WordNet, a table with a header that names the columns `lemma`, `lexname` and `synset`: its capitalised nouns are names
of their synset, whose type is the lexicographer file.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.file_lines import check_signature, text_lines
from steeplechase.tasks.labelled.delimited import rows_of_columns
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.mentions.mention import Mention, MentionFinder, MentionsOfFile

WANTED = "a gazetteer is a file of lines `name<TAB>entity<TAB>type`, or the lemmas of WordNet by lexicographer file"
WORDNET_COLUMNS = ("lemma", "synset", "lexname")
NOUNS = "noun."
SHORTEST_NAME = 3
_WORDS = re.compile(r"\w+")

Entity = tuple[str, str]
"""Its identifier and its type."""


class Gazetteer(MentionsOfFile):
    """Names that are looked up in the text: the longest at each word, in the case of the file."""

    wanted: ClassVar[str] = WANTED
    reading_version: ClassVar[int] = 1

    kind: Literal["gazetteer"] = "gazetteer"
    """Chooses names that are looked up."""
    path: str = Field(min_length=1, examples=["$STEEPLECHASE_DATA/supersense/oewn/lemma_lexnames.tsv.xz"])
    """A file of lines `name<TAB>entity<TAB>type`, or WordNet's lemmas with columns `lemma`, `lexname` and `synset`.

    `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets, `data` where the variable is unset.
    """

    def finder(self) -> "Names":
        """Return the names. Raises DataError with every mistake of the file."""
        return Names(_names(self.file))


class Names(MentionFinder):
    """The entity of every name; of several entities with one name, the first in the file."""

    def __init__(self, entities: dict[str, Entity]) -> None:
        self.entities = entities
        self._most_words = max((len(_WORDS.findall(name)) for name in entities), default=0)

    def mentions(self, document: Document) -> Iterator[Mention]:
        """Yield the longest name that begins at each word; a name ends at the end of a word."""
        text = document.text
        words = [word.span() for word in _WORDS.finditer(text)]
        for first, (start, _) in enumerate(words):
            for _, end in reversed(words[first : first + self._most_words]):
                if (entity := self.entities.get(text[start:end])) is not None:
                    yield Mention(start, end, *entity)
                    break


def _names(path: Path) -> dict[str, Entity]:
    check_signature(path, path.name, path.suffix if path.suffix in (".gz", ".xz") else "")
    mistakes, entities = Mistakes(path.name), dict[str, Entity]()
    for name, entity in _entries(text_lines(path, path.name), mistakes):
        entities.setdefault(name, entity)
    if not entities and not mistakes.count:
        mistakes.add(1, f"the file has no names; {WANTED}")
    mistakes.refuse()
    return entities


def _entries(lines: Iterable[tuple[int, str]], mistakes: Mistakes) -> Iterator[tuple[str, Entity]]:
    """Yield each name with its entity."""
    for number, wordnet, (name, entity, entity_type) in rows_of_columns(lines, WORDNET_COLUMNS, mistakes):
        if not (name and entity and entity_type):
            mistakes.add(number, "an empty column")
        elif not wordnet or (name[0].isupper() and len(name) >= SHORTEST_NAME and entity_type.startswith(NOUNS)):
            yield name, (entity, entity_type)
