"""Reads tables with a header: comma-separated values with quotes (RFC 4180), or tab-separated without."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from foundation.errors import DataError, did_you_mean
from tasks.corpora.file_lines import MAXIMUM_LINE_BYTES, check_signature, text_lines
from tasks.labelled.mistakes import Mistakes

OTHER_DELIMITERS = (";", "\t", "|", ",")
Cells = tuple[int, list[str]]
"""The line on which a row begins, and its cells."""


@dataclass(frozen=True, slots=True)
class DelimitedRow:
    """One row by column name."""

    line: int  # from 1; the first line of the row
    cells: Mapping[str, str]


def delimited_rows(
    path: Path, name: str, delimiter: str, wanted: Sequence[str], mistakes: Mistakes
) -> Iterator[DelimitedRow]:
    """Yield the rows below the header; empty lines are skipped.

    Tab-separated files have no quotes: a quotation mark is text. A row with another number of cells than the header
    is a mistake and is not yielded. Raises DataError for invalid UTF-8, an open quote, an empty file, a repeated or
    missing column.
    """
    rows = _cells(path, name, delimiter)
    line, header = next(rows, (1, []))
    if not header:
        raise DataError(f"{name}:1: the file is empty; expected a header with the columns {', '.join(wanted)}")
    if len(header) == 1 and len(wanted) > 1 and (found := next(filter(header[0].count, OTHER_DELIMITERS), None)):
        written = {",": "commas", "\t": "tabs"}
        raise DataError(
            f"{name}:{line}: the header has one cell, {header[0]!r}; cells are separated by {written[delimiter]} "
            f"here, not by {found!r}; a .csv has commas, a .tsv tabs"
        )
    check_header(name, line, header, wanted)
    for line, cells in rows:
        if len(cells) != len(header):
            mistakes.add(line, f"{len(cells)} cells, expected {len(header)}: {', '.join(header)}")
        else:
            yield DelimitedRow(line, dict(zip(header, cells, strict=True)))


def check_header(name: str, line: int, header: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise DataError with every wanted column that is missing or repeated, with a suggestion."""
    lines = [
        f"{name}:{line}: no column {column!r}; found are {', '.join(map(repr, header[:12]))}."
        f"{did_you_mean(column, header, written=repr)}"
        for column in wanted
        if column not in header
    ]
    lines += [
        f"{name}:{line}: {header.count(column)} columns are named {column!r}"
        for column in wanted
        if header.count(column) > 1
    ]
    if lines:
        raise DataError(lines)


def _cells(path: Path, name: str, delimiter: str) -> Iterator[Cells]:
    check_signature(path, name, path.suffix)
    if delimiter == "\t":
        yield from ((number, text.split("\t")) for number, text in text_lines(path, name) if text)
        return
    csv.field_size_limit(MAXIMUM_LINE_BYTES)
    reader = csv.reader((f"{text}\n" for _, text in text_lines(path, name)), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as wrong:
        message = f"a quotation mark is not closed or not doubled ({wrong})"
        if "new-line character" in str(wrong):
            message = "a carriage return without a line feed outside quotes; save the file with line feeds"
        raise DataError(f"{name}:{line}: {message}") from wrong
