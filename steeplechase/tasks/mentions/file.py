"""Mentions of a user's file: JSON lines with document, start, end, entity and type."""

from collections import defaultdict
from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field, ValidationError

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import Schema
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.file_lines import check_signature, text_lines
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.mentions.mention import Mention, MentionFinder, MentionsOfFile

WANTED = 'mentions are JSON lines: {"document": …, "start": …, "end": …, "entity": …, "type": …}'


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


class MentionFile(MentionsOfFile):
    """Mentions as an entity linker found them, as WKLM has them; an entity's names are those in the file."""

    wanted: ClassVar[str] = WANTED
    reading_version: ClassVar[int] = 1

    kind: Literal["file"] = "file"
    """Chooses a file of mentions."""
    path: str = Field(min_length=1, examples=["mentions.jsonl"])
    """JSON lines, each with `document`, `start`, `end`, `entity` and `type`; perhaps .gz or .xz.

    `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets, `data` where the variable is unset.
    """

    def finder(self) -> MentionFinder:
        """Return the mentions by document. Raises DataError with every mistake of the file."""
        path = self.file
        check_signature(path, path.name, path.suffix if path.suffix in (".gz", ".xz") else "")
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
        if not by_document and not mistakes.count:
            mistakes.add(1, f"the file has no mentions; {WANTED}")
        mistakes.refuse()
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
