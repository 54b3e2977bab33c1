"""A document: one text of a corpus, where it came from, and what it documents if it documents code."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """One text; `source` is the unit that splits are drawn by, so it is never in two of them."""

    source: str  # dotted module name, file name, or file name with article or section
    text: str
    name: str | None = None  # qualified name of the object documented, or an article's title
    signature: str | None = None  # as written, for instance "(self, input, weight, bias=None, stride=1)"
