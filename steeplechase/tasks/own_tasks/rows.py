"""Reads the rows of CSV, TSV, JSONL, Parquet and CoNLL files, with the numbers that messages name them by."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steeplechase.foundation.errors import DataError, did_you_mean
from steeplechase.tasks.corpora.file_lines import check_signature, json_of_line, refuse_array, text_lines
from steeplechase.tasks.corpora.parquet import parquet_columns, parquet_rows
from steeplechase.tasks.labelled.conll import conll_sentences
from steeplechase.tasks.labelled.delimited import delimited_rows, header_mistakes
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.own_tasks.columns import Column, TableLayout

COMPRESSED = (".gz", ".xz")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_LINES, PARQUET = (".jsonl", ".ndjson"), ".parquet"
CONLL = (".conll", ".conllu", ".txt", ".bio", ".iob", ".iob2")
KNOWN = (*DELIMITERS, *JSON_LINES, PARQUET, *CONLL)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: the line where it begins, in Parquet its number, and its values by column."""

    line: int
    values: Mapping[Column, object]


def format_of(path: str) -> str | None:
    """Return the suffix that decides how a file is read; `.gz` or `.xz` may follow. None for an unknown one."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
        return suffixes[-1] if suffixes and suffixes[-1] in KNOWN and suffixes[-1] != PARQUET else None
    return suffixes[-1] if suffixes and suffixes[-1] in KNOWN else None


def is_conll(path: str, layout: TableLayout) -> bool:
    """Return whether a file has a word per line: by its suffix, or a .tsv of words and tags in numbered columns."""
    numbered = layout.columns.tags is not None and isinstance(layout.columns.text, int)
    return format_of(path) in CONLL or (numbered and format_of(path) == ".tsv")


def table_rows(path: Path, name: str, layout: TableLayout, mistakes: Mistakes) -> Iterator[TableRow]:
    """Yield the rows of a file by its suffix, of CoNLL its sentences; malformed rows are mistakes and not yielded.

    Raises DataError, with line and byte, for a file that cannot be read, is empty or lacks a column.
    """
    kind, wanted = format_of(path.name), layout.columns.wanted
    names = [column for column in wanted if isinstance(column, str)]
    if is_conll(path.name, layout):
        words, tags = layout.columns.text, layout.columns.tags
        assert tags is not None
        for line, of_words, of_tags in conll_sentences(path, name, (words, tags), mistakes):
            yield TableRow(line, {words: of_words, tags: of_tags})
    elif kind in DELIMITERS:
        for row in delimited_rows(path, name, DELIMITERS[kind], wanted, mistakes, layout.quotes):
            yield TableRow(row.line, row.cells)
    elif len(names) < len(wanted):
        raise DataError(f"{name}: columns of {kind} have names, not numbers")
    elif kind in JSON_LINES:
        yield from _json_rows(path, name, names, mistakes)
    elif kind == PARQUET:
        yield from _parquet_rows(path, name, names)
    else:
        raise DataError(f"{name}: the suffix is none of {', '.join(KNOWN)}")


def _parquet_rows(path: Path, name: str, wanted: Sequence[str]) -> Iterator[TableRow]:
    check_signature(path, name, PARQUET)
    found = parquet_columns(path, name)
    top = {column: column if column in found else column.partition(".")[0] for column in wanted}
    absent = [column for column in wanted if top[column] not in found]
    if wrong := header_mistakes(name, 1, found, absent):
        raise DataError(wrong)
    read = tuple(dict.fromkeys(top.values()))
    for number, values in enumerate(parquet_rows(path, name, read), start=1):
        row = dict(zip(read, values, strict=True))
        try:
            yield TableRow(number, {column: inside(row, column) for column in wanted})
        except KeyError as without:
            raise DataError(f"{name}: row {number}: {without.args[0]}") from without


def inside(row: object, column: str) -> object:
    """Return the value of a column; `a.b` is the field `b` of `a`, of a list of objects the field of each.

    Raises KeyError with a message if there is none.
    """
    if isinstance(row, list):
        return [inside(each, column) for each in row]
    if not isinstance(row, dict):
        raise KeyError(f"no field {column!r} in {json.dumps(row, default=str)[:40]}")
    if column in row:
        return row[column]
    first, _, rest = column.partition(".")
    if first not in row or not rest:
        raise KeyError(f"no field {column!r}.{did_you_mean(column, row)}")
    return None if row[first] is None else inside(row[first], rest)


def _json_rows(path: Path, name: str, wanted: Sequence[str], mistakes: Mistakes) -> Iterator[TableRow]:
    check_signature(path, name, path.suffix)
    for number, line in text_lines(path, name):
        if not line.strip():
            continue
        refuse_array(name, number, line)
        try:
            values = json_of_line(line)
        except ValueError as wrong:
            mistakes.add(number, f"not JSON: {wrong}")
            continue
        if not isinstance(values, dict):
            mistakes.add(number, "not a JSON object")
            continue
        found: dict[Column, object] = {}
        for column in wanted:
            try:
                found[column] = inside(values, column)
            except KeyError as without:
                mistakes.add(number, str(without.args[0]))
        repeated = _repeated(line, [column if column in values else column.partition(".")[0] for column in wanted])
        for column, count in repeated.items():
            mistakes.add(number, f"{count} fields are named {column!r}")
        if len(found) == len(wanted) and not repeated:
            yield TableRow(number, found)


def _repeated(line: str, wanted: Sequence[str]) -> dict[str, int]:
    """Return the wanted fields that an object has several times, of which JSON's reader keeps the last one alone."""
    if all(line.count(f'"{column}"') < 2 for column in wanted) and "\\" not in line:
        return {}
    names = Counter(name for name, _ in json.loads(line, object_pairs_hook=list))
    return {column: names[column] for column in wanted if names[column] > 1}
