"""A mention of an entity in a document, and what sources of mentions share."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from steeplechase.foundation.schema import VARIANT_KEY, JsonValue, Schema
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.data_folder import file_hash, missing, resolved


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


class MentionsOfFile(MentionSource):
    """Mentions that are read from a file, perhaps .gz or .xz."""

    wanted: ClassVar[str]
    """The layout of the file, for messages."""
    reading_version: ClassVar[int]
    """Incremented when the same file gives other mentions."""

    path: str = Field(min_length=1)
    """The file, in the layout of its `kind`.

    `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets, `data` where the variable is unset.
    """

    def inputs(self) -> JsonValue:
        """Return the sha256 of the file; raises DataError if it cannot be read."""
        identity = {VARIANT_KEY: getattr(self, VARIANT_KEY), "reading_version": self.reading_version}
        return {**identity, "sha256": file_hash(self.file)}

    def check_exists(self) -> None:
        """Raise DataError if the file is missing."""
        _ = self.file

    @property
    def file(self) -> Path:
        """The file. Raises DataError if it is missing."""
        return located(self.path, self.wanted)


def located(path: str, wanted: str) -> Path:
    """Return a declared file. Raises DataError, which says what is wanted, if there is none."""
    found = resolved(path)
    if not found.is_file():
        raise missing(f"{found}: no such file; {wanted}")
    return found
