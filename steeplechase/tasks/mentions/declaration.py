"""Mentions of entities in documents, and their sources: a user's file, and a gazetteer, which needs no linker."""

import re
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationError

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import OPTION, VARIANT_KEY, JsonValue, Schema
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.file_lines import check_packed_signature, text_lines
from steeplechase.tasks.data_folder import DeclaredFile, file_hash
from steeplechase.tasks.labelled.delimited import rows_of_columns
from steeplechase.tasks.labelled.mistakes import Mistakes


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity named by the characters from `start` to before `end` of a document."""

    start: int
    end: int
    entity: str
    type: str


class MentionFinder:
    """The mentions of documents."""

    @abstractmethod
    def mentions(self, document: Document) -> Iterable[Mention]:
        """Return the mentions of a document in any order; they may overlap.

        Raises DataError where they do not fit the document.
        """


def without_overlaps(mentions: Iterable[Mention]) -> Iterator[Mention]:
    """Yield mentions from left to right; of overlapping ones the first, and of those with one start the longest."""
    end = 0
    for mention in sorted(mentions, key=lambda each: (each.start, -each.end)):
        if mention.start >= end:
            yield mention
            end = mention.end


class MentionSource(DeclaredFile):
    """Where the mentions of the corpus's documents are: a file, perhaps .gz or .xz, in the layout of its `kind`."""

    def inputs(self) -> JsonValue:
        """Return the kind and the sha256 of the file; raises DataError if it cannot be read."""
        kind = {VARIANT_KEY: getattr(self, VARIANT_KEY)}
        return {**kind, "reading_version": self.reading_version, "sha256": file_hash(self.located())}

    @abstractmethod
    def finder(self) -> MentionFinder:
        """Return what finds the mentions of documents. Raises DataError with every mistake of the file."""


MENTIONS_WANTED = 'mentions are JSON lines: {"document": …, "start": …, "end": …, "entity": …, "type": …}'


class MentionLine(Schema):
    """One line of the file."""

    document: str
    """The source of the document: of a JSONL corpus `FILE#LINE`, of WikiExtractor output `FILE#ARTICLE`."""
    start: int = Field(ge=0)
    """First character of the mention in the document's text, without white space at the text's ends."""
    end: int = Field(ge=1)
    """The character after its last one."""
    entity: str = Field(min_length=1)
    type: str = Field(min_length=1)


class MentionFile(MentionSource):
    """Mentions as an entity linker found them, as WKLM has them; an entity's names are those in the file."""

    wanted: ClassVar[str] = MENTIONS_WANTED

    kind: Literal["file"] = "file"
    """Chooses a file of mentions."""
    path: str = Field(min_length=1, examples=["mentions.jsonl"])
    """JSON lines, each with `document`, `start`, `end`, `entity` and `type`; perhaps .gz or .xz.

    `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets, `data` where the variable is unset.
    """

    def finder(self) -> MentionFinder:
        """Return the mentions by document. Raises DataError with every mistake of the file."""
        path = self.located()
        check_packed_signature(path, path.name)
        mistakes, by_document = Mistakes(path.name), defaultdict[str, list[tuple[int, Mention]]](list)
        for number, line in text_lines(path, path.name):
            if not line.strip():
                continue
            try:
                row = MentionLine.model_validate_json(line)
            except ValidationError as wrong:
                first = wrong.errors()[0]
                where = ".".join(map(str, first["loc"]))
                mistakes.add(number, f"{where}: {first['msg']}" if where else first["msg"])
                continue
            if row.start >= row.end:
                mistakes.add(number, f"start {row.start} is not before end {row.end}")
            by_document[row.document].append((number, Mention(row.start, row.end, row.entity, row.type)))
        mistakes.refuse(f"the file has no mentions; {MENTIONS_WANTED}" if not by_document else "")
        return _Listed(path.name, by_document)


class _Listed(MentionFinder):
    def __init__(self, name: str, by_document: dict[str, list[tuple[int, Mention]]]) -> None:
        self._name, self._by_document, self._seen = name, by_document, set[str]()

    def mentions(self, document: Document) -> Iterable[Mention]:
        listed = self._by_document.get(document.source, [])
        if listed and document.source in self._seen:
            message = f"{document.source} has several documents, so that its offsets are ambiguous"
            raise DataError(f"{self._name}:{listed[0][0]}: {message}. Did you mean a corpus of JSON lines?")
        self._seen.add(document.source)
        mistakes = Mistakes(self._name)
        for number, mention in listed:
            if mention.end > len(document.text):
                message = f"ends at {mention.end}; {document.source} has {len(document.text)} characters"
                mistakes.add(number, message)
        mistakes.refuse()
        return [mention for _, mention in listed]


NAMES_WANTED = (
    "a gazetteer is a file of lines `name<TAB>entity<TAB>type`, or the lemmas of WordNet by lexicographer file"
)
WORDNET_COLUMNS = ("lemma", "synset", "lexname")
NOUNS = "noun."
SHORTEST_NAME = 3
_WORDS = re.compile(r"\w+")

Entity = tuple[str, str]
"""Its identifier and its type."""


class Gazetteer(MentionSource):
    """Names that are looked up in the text: the longest at each word, in the case of the file."""

    wanted: ClassVar[str] = NAMES_WANTED

    kind: Literal["gazetteer"] = "gazetteer"
    """Chooses names that are looked up."""
    path: str = Field(min_length=1, examples=["$STEEPLECHASE_DATA/supersense/oewn/lemma_lexnames.tsv.xz"])
    """A file of lines `name<TAB>entity<TAB>type`, or WordNet's lemmas with columns `lemma`, `lexname` and `synset`.

    `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets, `data` where the variable is unset.
    """

    def finder(self) -> "Names":
        """Return the names. Raises DataError with every mistake of the file."""
        return Names(_names(self.located()))


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
    check_packed_signature(path, path.name)
    mistakes, entities = Mistakes(path.name), dict[str, Entity]()
    for name, entity in _entries(text_lines(path, path.name), mistakes):
        entities.setdefault(name, entity)
    mistakes.refuse(f"the file has no names; {NAMES_WANTED}" if not entities else "")
    return entities


def _entries(lines: Iterable[tuple[int, str]], mistakes: Mistakes) -> Iterator[tuple[str, Entity]]:
    """Yield each name with its entity."""
    for number, wordnet, (name, entity, entity_type) in rows_of_columns(lines, WORDNET_COLUMNS, mistakes):
        if not (name and entity and entity_type):
            mistakes.add(number, "an empty column")
        elif not wordnet or (name[0].isupper() and len(name) >= SHORTEST_NAME and entity_type.startswith(NOUNS)):
            yield name, (entity, entity_type)


Mentions = Annotated[MentionFile | Gazetteer, OPTION]
