"""Reads comma-separated values with quotes (RFC 4180) and tab-separated ones without, with a header or with none."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steeplechase.foundation.errors import DataError, did_you_mean
from steeplechase.tasks.corpora.file_lines import MAXIMUM_LINE_BYTES, check_signature, text_lines
from steeplechase.tasks.labelled.mistakes import Mistakes

OTHER_DELIMITERS = (";", "\t", "|", ",")
NO_HEADER = "is the first line no header? Then number the columns from 1, as in text: 1, label: 2"
Cells = tuple[int, list[str]]
"""The line on which a row begins, and its cells."""


@dataclass(frozen=True, slots=True)
class DelimitedRow:
    """One row by the name or the number of the column."""

    line: int  # from 1; the first line of the row
    cells: Mapping[str | int, str]


def delimited_rows(
    path: Path, name: str, delimiter: str, wanted: Sequence[str | int], mistakes: Mistakes, quoted: bool = False
) -> Iterator[DelimitedRow]:
    """Yield the rows below the header, of columns by number all rows; empty lines are skipped.

    Tab-separated files have no quotes unless they are `quoted`: a quotation mark is text. A row with another number
    of cells than the first line is a mistake and is not yielded. Raises DataError for invalid UTF-8, an open quote,
    an empty file, a repeated or missing column.
    """
    plain = delimiter == "\t" and not quoted
    rows = _cells(path, name, delimiter, not plain)
    if any(isinstance(column, int) for column in wanted):
        yield from _numbered(name, rows, [column for column in wanted if isinstance(column, int)], mistakes, plain)
        return
    line, header = next(rows, (1, []))
    if not header:
        raise DataError(
            f"{name}:1: the file is empty; expected a header with the columns {', '.join(map(str, wanted))}"
        )
    if len(header) == 1 and len(wanted) > 1 and (found := next(filter(header[0].count, OTHER_DELIMITERS), None)):
        written = {",": "commas", "\t": "tabs"}
        raise DataError(
            f"{name}:{line}: the header has one cell, {header[0]!r}; cells are separated by {written[delimiter]} "
            f"here, not by {found!r}; a .csv has commas, a .tsv tabs"
        )
    if wrong := header_mistakes(name, line, header, wanted):
        raise DataError([*wrong, *([] if {*wanted} & {*header} else [f"{name}:{line}: {NO_HEADER}"])])
    yield from whole_rows(rows, header, mistakes, plain)


def whole_rows(
    rows: Iterable[Cells], columns: Sequence[str], mistakes: Mistakes, plain: bool = False
) -> Iterator[DelimitedRow]:
    """Yield the rows that have a cell for each column; another one is a mistake and is not yielded.

    In `plain` rows a quotation mark is text, unless the file says `quotes: true`.
    """
    for line, cells in rows:
        if len(cells) != len(columns):
            hint = _open_quote(cells) if plain else ""
            mistakes.add(line, f"{len(cells)} cells, expected {len(columns)}: {', '.join(columns)}{hint}")
        else:
            yield DelimitedRow(line, dict(zip(columns, cells, strict=True)))


def _open_quote(cells: Sequence[str]) -> str:
    """Return how a file with quotes is read, empty if no cell has an open one."""
    opened = any(cell.count('"') % 2 for cell in cells)
    return ". A quotation mark is open here; write quotes: true if cells are quoted, as by pandas" if opened else ""


def tab_cells(path: Path, name: str) -> Iterator[Cells]:
    """Yield every line of a file, split at tabs; a quotation mark is text. Raises DataError for invalid UTF-8."""
    return ((number, text.split("\t")) for number, text in text_lines(path, name))


def _numbered(
    name: str, rows: Iterator[Cells], wanted: Sequence[int], mistakes: Mistakes, plain: bool
) -> Iterator[DelimitedRow]:
    """Yield the cells of columns by their numbers: 1 is the first, -1 the last."""
    width = 0
    for line, cells in rows:
        width = width or len(cells)
        if beyond := [column for column in wanted if abs(column) > width]:
            raise DataError(f"{name}:{line}: no column {beyond[0]}; the line has {width} cells")
        if len(cells) != width:
            hint = _open_quote(cells) if plain else ""
            mistakes.add(line, f"{len(cells)} cells, expected {width} as in the first line{hint}")
        else:
            yield DelimitedRow(line, {column: cells[column - (column > 0)] for column in wanted})
    if not width:
        raise DataError(f"{name}:1: the file is empty")


def header_mistakes(name: str, line: int, header: Sequence[str], wanted: Sequence[str | int]) -> list[str]:
    """Return a line for every wanted column that is missing or repeated, with a suggestion."""
    lines = [
        f"{name}:{line}: no column {column!r}; found are {', '.join(map(repr, header[:12]))}."
        f"{did_you_mean(str(column), header, written=repr)}"
        for column in wanted
        if column not in header
    ]
    lines += [
        f"{name}:{line}: {header.count(str(column))} columns are named {column!r}; rename all but one"
        for column in wanted
        if header.count(str(column)) > 1
    ]
    return lines


def _cells(path: Path, name: str, delimiter: str, quoted: bool) -> Iterator[Cells]:
    check_signature(path, name, path.suffix)
    if not quoted:
        yield from (row for row in tab_cells(path, name) if row[1] != [""])
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


def rows_of_columns(
    lines: Iterable[tuple[int, str]], columns: tuple[str, ...], mistakes: Mistakes
) -> Iterator[tuple[int, bool, tuple[str, ...]]]:
    """Yield the number of each line, whether the file is a table, and the cells of the columns.

    A first line that names all columns is the header of a table, which may have others too; without one every line
    has exactly these columns, in this order. A line with another number of columns is a mistake and left out.
    """
    places, width, is_table = tuple(range(len(columns))), len(columns), False
    for number, line in lines:
        cells = line.split("\t")
        if number == 1 and {*columns} <= {*cells}:
            places, width, is_table = tuple(map(cells.index, columns)), len(cells), True
        elif line.strip() and len(cells) != width:
            mistakes.add(number, f"{len(cells)} columns, expected {width} separated by tabs")
        elif line.strip():
            yield number, is_table, tuple(cells[place].strip() for place in places)
