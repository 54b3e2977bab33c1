"""Reads the rows of parquet files. The only import of pyarrow."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import MAXIMUM_LINE_BYTES, NO_MEMORY

ROWS_AT_A_TIME = 64


def parquet_columns(path: Path, name: str) -> tuple[str, ...]:
    """Return the columns of a file; raises DataError if it is damaged."""
    import pyarrow.parquet

    with _damage(name), pyarrow.parquet.ParquetFile(path) as file:
        return tuple(file.schema_arrow.names)


def parquet_rows(path: Path, name: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of some columns, row by row; raises DataError if it is damaged or a column is repeated."""
    import pyarrow.parquet

    with _damage(name), pyarrow.parquet.ParquetFile(path) as file:
        found = file.schema_arrow.names
        if repeated := [column for column in columns if found.count(column) > 1]:
            raise DataError(
                f"{name}: {found.count(repeated[0])} columns are named {repeated[0]!r}; rename all but one"
            )
        for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME, columns=list(columns)):
            if batch.nbytes > ROWS_AT_A_TIME * MAXIMUM_LINE_BYTES:
                most = f"at most {MAXIMUM_LINE_BYTES} of a row are read"
                raise DataError(f"{name}: {len(batch)} rows have {batch.nbytes} bytes; {most}")
            yield from zip(*(_values(batch.column(column)) for column in columns), strict=True)


def _values(column: Any) -> Iterable[Any]:
    """Return the values of a column; of one that keeps each text once, a row at a time, since they may be long."""
    import pyarrow

    return (each.as_py() for each in column) if pyarrow.types.is_dictionary(column.type) else column.to_pylist()


@contextmanager
def _damage(name: str) -> Iterator[None]:
    """Turn pyarrow's errors about the content of a file into a DataError."""
    import pyarrow

    try:
        yield
    except UnicodeDecodeError as wrong:
        byte = wrong.object[wrong.start]
        raise DataError(f"{name}: damaged parquet: a text has the byte 0x{byte:02x}, which is not UTF-8") from wrong
    except MemoryError as lack:  # pyarrow's own is one
        raise DataError(f"{name}: {NO_MEMORY}") from lack
    except (pyarrow.ArrowException, OSError) as wrong:
        if isinstance(wrong, OSError) and wrong.errno is not None:
            raise  # of the disk; damaged pages are reported without a number
        raise DataError(f"{name}: damaged parquet: {wrong}") from wrong
