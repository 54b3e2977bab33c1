"""Reads the rows of CSV, TSV, JSONL and Parquet files, with the numbers that messages name them by."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from foundation.errors import DataError, did_you_mean
from tasks.corpora.file_lines import check_signature, json_of_line, text_lines
from tasks.corpora.parquet import parquet_columns, parquet_rows
from tasks.labelled.delimited import check_header, delimited_rows
from tasks.labelled.mistakes import Mistakes

COMPRESSED = (".gz", ".xz")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_LINES, PARQUET = (".jsonl", ".ndjson"), ".parquet"
KNOWN = (*DELIMITERS, *JSON_LINES, PARQUET)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: the line where it begins, in Parquet its number, and its values by column."""

    line: int
    values: Mapping[str, object]


def format_of(path: str) -> str | None:
    """Return the suffix that decides how a file is read; `.gz` or `.xz` may follow. None for an unknown one."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
        return suffixes[-1] if suffixes and suffixes[-1] in KNOWN[:-1] else None
    return suffixes[-1] if suffixes and suffixes[-1] in KNOWN else None


def table_rows(path: Path, name: str, wanted: Sequence[str], mistakes: Mistakes) -> Iterator[TableRow]:
    """Yield the rows of a file by its suffix; malformed rows are mistakes and are not yielded.

    Raises DataError, with line and byte, for a file that cannot be read, is empty or lacks a column.
    """
    kind = format_of(path.name)
    if kind in DELIMITERS:
        for row in delimited_rows(path, name, DELIMITERS[kind], wanted, mistakes):
            yield TableRow(row.line, row.cells)
    elif kind in JSON_LINES:
        yield from _json_rows(path, name, wanted, mistakes)
    elif kind == PARQUET:
        check_signature(path, name, PARQUET)
        check_header(name, 1, parquet_columns(path, name), wanted)
        for number, values in enumerate(parquet_rows(path, name, wanted), start=1):
            yield TableRow(number, dict(zip(wanted, values, strict=True)))
    else:
        raise DataError(f"{name}: the suffix is none of {', '.join(KNOWN)}")


def _json_rows(path: Path, name: str, wanted: Sequence[str], mistakes: Mistakes) -> Iterator[TableRow]:
    check_signature(path, name, path.suffix)
    for number, line in text_lines(path, name):
        if not line.strip():
            continue
        try:
            values = json_of_line(line)
        except ValueError as wrong:
            mistakes.add(number, f"not JSON: {wrong}")
            continue
        if not isinstance(values, dict):
            mistakes.add(number, "not a JSON object")
            continue
        absent = [column for column in wanted if column not in values]
        for column in absent:
            mistakes.add(number, f"no field {column!r}.{did_you_mean(column, values)}")
        repeated = _repeated(line, wanted)
        for column, count in repeated.items():
            mistakes.add(number, f"{count} fields are named {column!r}")
        if not absent and not repeated:
            yield TableRow(number, values)


def _repeated(line: str, wanted: Sequence[str]) -> dict[str, int]:
    """Return the wanted fields that an object has several times, of which JSON's reader keeps the last one alone."""
    if all(line.count(f'"{column}"') < 2 for column in wanted) and "\\" not in line:
        return {}
    names = Counter(name for name, _ in json.loads(line, object_pairs_hook=list))
    return {column: names[column] for column in wanted if names[column] > 1}
