"""The sections of Python's language reference that `help()` shows, from the standard library's `pydoc_data`."""

import hashlib
from collections.abc import Generator, Mapping
from typing import ClassVar, Literal

from steeplechase.foundation.schema import Count, JsonValue
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.option import CorpusOption
from steeplechase.tasks.progress import Progress, place

READING_VERSION = 1  # incremented when the same reference gives other documents


class PythonReference(CorpusOption):
    """Every topic of the reference is a document and a source of its own."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"shortest": 2000})

    kind: Literal["python_reference"] = "python_reference"
    """Chooses the language reference of the Python that runs."""
    shortest: Count = 200
    """Characters of the shortest topic that is read."""

    def inputs(self) -> JsonValue:
        """Return the hash of the text that is read, and the version of the reader."""
        digest = hashlib.sha256("\0".join(f"{name}\0{text}" for name, text in self._topics().items()).encode())
        return {"kind": self.kind, "reading_version": READING_VERSION, "sha256": digest.hexdigest()}

    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        """Yield the topics by name; return 0, since none is unreadable."""
        topics = self._topics()
        for number, (name, text) in enumerate(topics.items(), start=1):
            progress(place("reading", "topic", number, len(topics)), number / len(topics))
            yield Document(name, text)
        return 0

    def _topics(self) -> dict[str, str]:
        from pydoc_data.topics import topics  # half a megabyte, only now needed

        return {name: text for name, text in sorted(topics.items()) if len(text) >= self.shortest}
