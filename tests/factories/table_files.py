"""A user's table in every format that is read."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

Rows = Sequence[Mapping[str, Any]]


def write_csv(path: Path, rows: Rows, end: str = "\n", bom: bool = False) -> Path:
    """Write rows as CSV with a header; return the file."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + text.getvalue().encode())
    return path


def write_tsv(path: Path, rows: Rows) -> Path:
    """Write rows as TSV without quotes; return the file."""
    lines = ["\t".join(rows[0]), *("\t".join(str(cell) for cell in row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_jsonl(path: Path, rows: Rows) -> Path:
    """Write a JSON line per row; return the file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_gzip(path: Path, rows: Rows) -> Path:
    """Write compressed JSON lines; return the file."""
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return path


def write_parquet(path: Path, rows: Rows) -> Path:
    """Write a Parquet table; return the file."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


FORMATS: dict[str, Callable[[Path, Rows], Path]] = {
    "reviews.csv": write_csv,
    "reviews.tsv": write_tsv,
    "reviews.jsonl": write_jsonl,
    "reviews.jsonl.gz": write_gzip,
    "reviews.parquet": write_parquet,
}
