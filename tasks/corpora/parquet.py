"""Reads the rows of parquet files. The only import of pyarrow."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from foundation.errors import DataError


def parquet_columns(path: Path, name: str) -> tuple[str, ...]:
    """Return the columns of a file; raises DataError if it is damaged."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            return tuple(file.schema_arrow.names)
    except pyarrow.ArrowInvalid as wrong:
        raise DataError(f"{name}: damaged parquet: {wrong}") from wrong


def parquet_rows(path: Path, name: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of some columns, row by row; raises DataError if the file is damaged."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=list(columns)):
                yield from zip(*(batch.column(column).to_pylist() for column in columns), strict=True)
    except pyarrow.ArrowInvalid as wrong:
        raise DataError(f"{name}: damaged parquet: {wrong}") from wrong
