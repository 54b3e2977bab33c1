"""The results that trials of a ledger were taken from: one fact for each, `reused 1` and on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import LedgerRows

FACT = "reused {}"


@dataclass(frozen=True)
class ReusedSource:
    """Results that trials were taken from."""

    name: str
    """Name of the folder that was given."""
    sha256: str
    """Of the checksum file of its rows."""
    machines: tuple[Mapping[str, JsonValue], ...]
    """The machines that computed them, as sessions record them."""


def reused_sources(rows: LedgerRows) -> tuple[ReusedSource, ...]:
    """Return the results that trials of a ledger may be taken from, in the order in which they were named."""
    return tuple(_read(rows))


def source_facts(rows: LedgerRows) -> Iterator[str]:
    """Yield the names of the facts of the sources."""
    for number, _ in enumerate(reused_sources(rows), start=1):
        yield FACT.format(number)


def _read(rows: LedgerRows) -> Iterator[ReusedSource]:
    for number in count(1):
        fact = rows.fact(FACT.format(number))
        if not isinstance(fact, dict):
            return
        machines = fact["machines"]
        assert isinstance(machines, list)
        known = tuple(machine for machine in machines if isinstance(machine, dict))
        yield ReusedSource(str(fact["name"]), str(fact["sha256"]), known)
