"""The results that trials of a ledger were taken from: one fact for each, `reused 1` and on."""

from collections.abc import Iterator

from steeplechase.ledger.database import LedgerRows, numbered_facts
from steeplechase.ledger.facts import ReusedSource

FACT = "reused {}"


def reused_sources(rows: LedgerRows) -> tuple[ReusedSource, ...]:
    """Return the results that trials of a ledger may be taken from, in the order in which they were named."""
    return tuple(ReusedSource.model_validate(fact) for _, fact in numbered_facts(rows, FACT))


def source_facts(rows: LedgerRows) -> Iterator[str]:
    """Yield the names of the facts of the sources."""
    return (FACT.format(number) for number, _ in numbered_facts(rows, FACT))
