"""The result of a latency stage: raw seconds of every arm at one length, and the machine they were taken on."""

import json
from collections.abc import Iterable, Iterator, Mapping

from pydantic import PositiveFloat

from foundation.schema import Count, JsonValue, Name, Schema
from ledger.records import Record, Status

LATENCY = "latency"
"""The kind of stage."""


class Machine(Schema):
    """What the seconds depend on besides the declaration; seconds of two machines are never compared."""

    processor: str
    system: str
    instructions: str
    """The widest vector instructions that torch uses here."""
    device: str
    threads: Count
    clock: str
    python: str
    torch: str
    operators: str
    """What computes the windows of the convolutions: compiled operators, or torch."""
    code: str
    """sha256 of the source of `models`: what was timed."""


class Latencies(Schema):
    """One length, timed whole: for every arm the seconds of one pass in each round, in the order of the rounds."""

    length: Count
    arms: tuple[Name, ...]
    """In the experiment's order, the baseline first: text in a ledger keeps no order of keys."""
    seconds: Mapping[Name, tuple[PositiveFloat, ...]]
    machine: Machine

    @property
    def document(self) -> dict[str, JsonValue]:
        """The result as a record holds it."""
        document: dict[str, JsonValue] = self.model_dump(mode="json")
        return document


def latencies_of(records: Iterable[Record]) -> Iterator[Latencies]:
    """Yield the result of every latency stage that has finished, in the order in which they were written."""
    for record in records:
        if record.stage == LATENCY and record.status is Status.FINISHED:
            yield Latencies.model_validate_json(json.dumps(record.result))
