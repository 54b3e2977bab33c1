"""Benchmark cases, one file per family; each defines `rows(size)`."""

from collections.abc import Iterator

from benchmarks.cases import (
    activations,
    encoder,
    fine_tuning,
    generating,
    masked_language_model,
    pretraining,
    span_dynamic,
)
from benchmarks.measuring import FULL_SIZE, Row, Size

FAMILIES = (
    span_dynamic,
    encoder,
    activations,
    pretraining,
    masked_language_model,
    generating,
    fine_tuning,
)


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield every row, in the order of the table."""
    for family in FAMILIES:
        yield from family.rows(size)
