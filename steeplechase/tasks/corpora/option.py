"""What every kind of corpus gives: its identity for a cache key, and its documents in a fixed order."""

from abc import abstractmethod
from collections.abc import Generator
from typing import Annotated, ClassVar

from steeplechase.foundation.schema import OPTION, JsonValue, OpenOption, Whole
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.progress import Progress


class CorpusOption(OpenOption):
    """Base class of the kinds of corpora: each is a file of this folder, or of a plugin's `tasks/corpora/`."""

    package: ClassVar[str] = "steeplechase.tasks.corpora"

    split_seed: Whole = 0
    """Another number draws another split into train, validation and test from the same documents."""

    @abstractmethod
    def inputs(self) -> JsonValue:
        """Return what determines the documents: settings and content hashes, and no paths.

        Raises DataError if a source cannot be read.
        """

    @abstractmethod
    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        """Yield the documents in a fixed order; return the number of sources that could not be read."""

    def check_exists(self) -> None:
        """Raise DataError if a source is missing, without reading it."""

    def bytes_of_text(self) -> int | None:
        """Return the size of the text before anything is left out, without reading it; None if it is unknown."""
        return None


Corpus = Annotated[CorpusOption, OPTION]
"""A corpus of any kind, chosen by `kind`: the files of this folder, and those of plugins."""
