"""How one published table is recomputed: its key columns, its rows, and what is not recomputed, with the reason."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tools.audit.exports import Row
from tools.audit.study import Study

Published = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Rule:
    """The recomputation of a table."""

    keys: tuple[str, ...]
    """Columns that identify a row."""
    rows: Callable[[Study, Published], Iterable[Row]]
    """Rows from the ledger; the published ones are given for their keys alone."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Columns that are not recomputed, each with the reason."""
    subset: bool = False
    """Whether the published table shows some of the rows only."""
