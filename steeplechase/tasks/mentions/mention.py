"""A mention of an entity in a document, and what sources of mentions share."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.tasks.corpora.document import Document


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity named by the characters from `start` to before `end` of a document."""

    start: int
    end: int
    entity: str
    type: str


class MentionSource(Schema):
    """A declaration of where the mentions of the corpus's documents are read from."""

    @abstractmethod
    def inputs(self) -> JsonValue:
        """Return the identity of the source for a stage's key. Raises DataError if its file cannot be read."""

    @abstractmethod
    def check_exists(self) -> None:
        """Raise DataError if its file is missing."""

    @abstractmethod
    def finder(self) -> "MentionFinder":
        """Return what finds the mentions of documents. Raises DataError with every mistake of the file."""


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
