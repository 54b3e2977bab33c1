"""A document: one text of a corpus, its source, and the object that it documents, if any."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """One text. Splits are drawn by `source`, so the texts of a source are all in one split."""

    source: str  # dotted module name, file name, or file name with article or section
    text: str
    name: str | None = None  # qualified name of the object documented, or an article's title
    signature: str | None = None  # as written, for instance "(self, input, weight, bias=None, stride=1)"
