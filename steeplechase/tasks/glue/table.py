"""Reads a file of GLUE: tab-separated, without quoting; `NA`, `None` and quotation marks are plain text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import check_signature, text_lines
from steeplechase.tasks.labelled.mistakes import Mistakes


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table by column name."""

    line: int  # from 1
    cells: dict[str, str]


def rows_of(
    path: Path, name: str, columns: Sequence[str] | None, wanted: Sequence[str], mistakes: Mistakes
) -> Iterator[Row]:
    """Yield the rows of a table; `columns` are the names for a file without a header.

    A row with another number of cells than the header is a mistake and is not yielded. Raises DataError, with line
    and byte, for invalid UTF-8, and if `wanted` columns are missing from the header.
    """
    check_signature(path, name, path.suffix)
    lines = text_lines(path, name)
    if columns is None:
        columns = _header(next(lines, (1, ""))[1], name, wanted)
    for number, text in lines:
        cells = text.split("\t")
        if len(cells) != len(columns):
            mistakes.add(number, f"{len(cells)} cells, expected {len(columns)}: {', '.join(columns)}")
        else:
            yield Row(number, dict(zip(columns, cells, strict=True)))


def _header(text: str, name: str, wanted: Sequence[str]) -> tuple[str, ...]:
    columns = tuple(text.split("\t"))
    missing = [column for column in wanted if column not in columns]
    if missing:
        existing = ", ".join(map(repr, columns[:12]))
        raise DataError(
            f"{name}:1: no column {' and no '.join(map(repr, missing))} in the header; found are {existing}"
        )
    return columns
