"""How one published table is recomputed: its key columns, its rows, and what is not recomputed, with the reason."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tools.audit.exports import Row
from tools.audit.study import Study

Published = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class NotRecomputed:
    """A cell that is not recomputed, with the reason."""

    reason: str


@dataclass(frozen=True)
class Rule:
    """The recomputation of a table."""

    keys: tuple[str, ...]
    """Columns that identify a row."""
    rows: Callable[[Study, Published], Iterable[Row]]
    """Rows from the ledger; the published ones are given for their keys alone."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Columns that are not recomputed, each with the reason."""
    allowed: Mapping[str, float] = field(default_factory=dict)
    """Columns that the report computes with a known numerical error, with the absolute error that is allowed for."""
    why: str = ""
    """Where that error comes from."""
    subset: bool = False
    """Whether the published table shows some of the rows only."""
