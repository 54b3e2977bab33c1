"""Readers of text files: paragraphs, WikiExtractor articles, jsonl and parquet rows as documents."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from steeplechase.foundation.errors import DataError, closest
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.file_lines import json_of_line, text_lines
from steeplechase.tasks.corpora.parquet import parquet_columns, parquet_rows

DOCUMENT_CHARACTERS = 1000  # a plain text is cut at the first blank line after this many characters
LONGEST_DOCUMENT_CHARACTERS = 4000  # and at any line end after this many
DOCUMENTS_PER_SECTION = 5  # neighbouring paragraphs share a source and therefore a split
TEXT_COLUMN = "text"

_ARTICLE_START = re.compile(r'<doc id="([^"]*)".*? title="([^"]*)"')


def _plain(path: Path, name: str) -> Iterator[Document]:
    """Yield WikiExtractor articles, each its own source, or groups of paragraphs, five to a source."""
    article: re.Match[str] | None = None
    lines: list[str] = []
    characters = sections = 0
    for _, line in text_lines(path, name):
        start = _ARTICLE_START.match(line)
        ends = start is not None or (article is not None and line.strip() == "</doc>")
        if article is None and not ends:
            ends = characters >= (LONGEST_DOCUMENT_CHARACTERS if line.strip() else DOCUMENT_CHARACTERS)
        if ends:
            yield from _document(name, article, sections, lines)
            sections += article is None and bool(lines)
            article, lines, characters = start, [], 0
        if start is None and not (ends and line.strip() == "</doc>"):
            lines.append(line)
            characters += len(line)
    yield from _document(name, article, sections, lines)


def _document(name: str, article: re.Match[str] | None, sections: int, lines: list[str]) -> Iterator[Document]:
    text = "\n".join(lines).strip()
    if not text:
        return
    if article is not None:
        yield Document(f"{name}#{article.group(1)}", text, article.group(2))
    else:
        yield Document(f"{name}#{sections // DOCUMENTS_PER_SECTION}", text)


def _json_lines(path: Path, name: str) -> Iterator[Document]:
    for number, line in text_lines(path, name):
        if not line.strip():
            continue
        try:
            row = json_of_line(line)
        except ValueError as wrong:
            raise DataError(f"{name}:{number}: not JSON: {wrong}") from wrong
        text = row.get(TEXT_COLUMN) if isinstance(row, dict) else None
        if not isinstance(text, str):
            found = f"; fields found: {', '.join(row)}" if isinstance(row, dict) and TEXT_COLUMN not in row else ""
            raise DataError(f'{name}:{number}: needs an object with a text under "{TEXT_COLUMN}"{found}')
        if text.strip():
            yield Document(f"{name}#{number}", text.strip())


def _parquet(path: Path, name: str) -> Iterator[Document]:
    columns = parquet_columns(path, name)
    if TEXT_COLUMN not in columns:
        close = closest(TEXT_COLUMN, columns)
        hint = f"; rename {close!r}?" if close else ""
        raise DataError(f"{name}: no column {TEXT_COLUMN!r}; columns found: {', '.join(columns)}{hint}")
    for row, (text,) in enumerate(parquet_rows(path, name, [TEXT_COLUMN]), start=1):
        if not isinstance(text, str):
            shown = "null" if text is None else f"a value of type {type(text).__name__}"
            raise DataError(f"{name}: row {row}: {TEXT_COLUMN}: {shown}, expected a text")
        if text.strip():
            yield Document(f"{name}#{row}", text.strip())


READERS: dict[str, Callable[[Path, str], Iterator[Document]]] = {
    ".jsonl": _json_lines,
    ".txt": _plain,
    ".parquet": _parquet,
}
