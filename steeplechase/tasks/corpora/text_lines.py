"""A corpus of lines: groups of lines of local files, such as the two sides of a parallel corpus."""

from collections.abc import Generator, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import Count, JsonValue
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.file_lines import check_signature, text_lines
from steeplechase.tasks.corpora.option import CorpusOption
from steeplechase.tasks.data_folder import missing, resolved
from steeplechase.tasks.progress import Progress, place

READING_VERSION = 1  # incremented when the documents of the same files change
READING = "reading lines"


class TextLinesCorpus(CorpusOption):
    """Every file is cut into documents of as many lines; the documents of one number are in one split together."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ()

    kind: Literal["text_lines"] = "text_lines"
    """Chooses files with one text a line."""
    paths: tuple[str, ...] = Field(min_length=1, examples=[["$STEEPLECHASE_DATA/mt/multi30k/train.de.gz"]])
    """The files (each also .gz or .xz), in their order; line n of one belongs to line n of the others.

    `$STEEPLECHASE_DATA` at the beginning is the folder of published data sets, `data` where the variable is unset.
    """
    lines_per_document: Count = 20
    """Lines of a document."""

    def inputs(self) -> JsonValue:
        """Return the sha256 of every file; raises DataError like reading."""
        self.check_exists()
        files: list[JsonValue] = [sha256_of(path) for path in self._files]
        return {
            "kind": self.kind,
            "reading_version": READING_VERSION,
            "files": files,
            "lines": self.lines_per_document,
        }

    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        """Yield the documents of every file; return 0, since no file is skipped. Raises DataError."""
        self.check_exists()
        files = self._files
        for number, path in enumerate(files, start=1):
            progress(place(READING, "file", number, len(files)), (number - 1) / len(files))
            yield from self._of_file(path)
        progress(READING, 1.0)
        return 0

    def check_exists(self) -> None:
        """Raise DataError for every file that there is not; nothing is read."""
        absent = [str(path) for path in self._files if not path.is_file()]
        if absent:
            raise missing(f"{', '.join(absent)}: no such file; corpus.paths names files with one text a line")

    @property
    def _files(self) -> list[Path]:
        return [resolved(path) for path in self.paths]

    def _of_file(self, path: Path) -> Iterator[Document]:
        check_signature(path, path.name, path.suffix)
        lines = (line.strip() for _, line in text_lines(path, path.name))
        found = False
        for number, group in enumerate(iter(lambda: list(islice(lines, self.lines_per_document)), [])):
            text = "\n".join(line for line in group if line)
            if text:
                found = True
                yield Document(f"lines {number}", text)
        if not found:
            raise DataError(f"{path.name}: the file has no text")
