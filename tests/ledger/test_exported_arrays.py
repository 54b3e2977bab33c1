"""Arrays of an export: what is no array is refused without filling the memory, and uncompressed ones are read."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.csv_export import attachment_names, read_attachment, read_export, write_export
from steeplechase.ledger.example_tables import INDEX
from steeplechase.ledger.paths import EXPORT_FOLDER
from tests.ledger.test_example_tables import Results, example_tables_at


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return Results(tmp_path / "results").export(tmp_path / "published")


def attached(published: Path) -> dict[str, bytes]:
    source = published / EXPORT_FOLDER
    return {name: read_attachment(source, name) for name in attachment_names(source)}


@pytest.mark.parametrize("content", [b"", b"no gzip", gzip.compress(b"no array"), gzip.compress(bytes(2**29))])
def test_an_export_of_other_arrays_is_refused_in_one_line_without_filling_the_memory(
    published: Path, content: bytes
) -> None:
    write_export(read_export(published), published, attached(published) | {"held_out_loss.npy.gz": content})
    with pytest.raises(CorruptionError, match=r"held_out_loss\.npy\.gz: ") as told:
        example_tables_at(published)
    assert "\n" not in str(told.value)


def test_arrays_of_an_export_of_before_are_read(published: Path) -> None:
    """They were not compressed."""
    tables, files = example_tables_at(published), attached(published)
    index = files.pop(INDEX).replace(b".npy.gz", b".npy")
    plain = {name.removesuffix(".gz"): gzip.decompress(content) for name, content in files.items()}
    write_export(read_export(published), published, {**plain, INDEX: index})
    again = example_tables_at(published)
    assert all(np.array_equal(again[metric].values, table.values) for metric, table in tables.items())
