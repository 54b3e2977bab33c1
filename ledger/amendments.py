"""What was added to an experiment after its ledger was begun: arms, claims, margins, and what was known by then.

The ledger's own sequence says what came before what, so a clock that is put back changes nothing; the time of day is
kept for the eye alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

from configuration.claims import parse_claim
from foundation.schema import JsonValue, canonical_text
from ledger.database import Ledger, LedgerRows
from tasks.data_folder import with_paths_as_in

if TYPE_CHECKING:
    from configuration.loading import AnyExperiment

TOLD = ("claims", "paper", "equivalence_margin", "forecast")
"""Of what changes no number, the parts that a report's verdicts depend on."""
FACT = "amendment {}"


@dataclass(frozen=True)
class Amendment:
    """One addition; `document` and `identity` hold from it on."""

    after_record: int
    """The last record of a trial that the ledger held; 0 where there was none."""
    moment: str
    """In UTC; orders nothing."""
    changed: tuple[str, ...]
    """Which parts differ: `arms` or one of those that are told."""
    document: Mapping[str, JsonValue]
    identity: JsonValue
    impossible: JsonValue
    """The points that were left out."""


def amendments(ledger: LedgerRows) -> tuple[Amendment, ...]:
    """Return what was added since the ledger was begun, the earliest first."""
    return tuple(_read(ledger))


def _read(ledger: LedgerRows) -> Iterator[Amendment]:
    for number in count(1):
        fact = ledger.fact(FACT.format(number))
        if not isinstance(fact, dict):
            return
        document, changed, after = fact["document"], fact["changed"], fact["after_record"]
        assert isinstance(document, dict)
        assert isinstance(changed, list)
        assert isinstance(after, int)
        names = tuple(map(str, changed))
        yield Amendment(after, str(fact["moment"]), names, document, fact["identity"], fact["impossible"])


def amend(ledger: Ledger, experiment: "AnyExperiment") -> bool:
    """Write down what the experiment adds to what the ledger holds; return whether the two can be one at all.

    They can where every number that was asked for is asked for still: arms may be added, and what is claimed may
    change.
    """
    earlier, wanted = amendments(ledger), experiment.identity()
    known = with_paths_as_in(earlier[-1].identity if earlier else ledger.fact("identity"), wanted)
    grows = canonical_text(known) != canonical_text(wanted)
    if grows and not (experiment.may_grow and _adds_arms(known, wanted)):
        return False
    before = earlier[-1].document if earlier else ledger.fact("document")
    document = experiment.model_dump(mode="json")
    changed = [part for part in TOLD if _part(before, part) != _part(document, part)]
    if grows or changed:
        entry: dict[str, JsonValue] = {
            "after_record": ledger.last_of_trials(),
            "moment": datetime.now(UTC).isoformat(timespec="seconds"),
            "changed": [*(["arms"] if grows else []), *changed],
            "document": document,
            "identity": wanted,
            "impossible": experiment.impossible_points,
        }
        ledger.set_fact(FACT.format(len(earlier) + 1), entry)
    return True


def _part(document: object, name: str) -> str:
    """Return a part as text; one that was never written down is like one that is empty."""
    part = document.get(name) if isinstance(document, Mapping) else None
    if name == "claims" and isinstance(part, list):
        part = [str(parse_claim(str(text))) for text in part]  # however it was spaced
    return canonical_text(part) if part else ""


def _adds_arms(known: JsonValue, wanted: JsonValue) -> bool:
    if not isinstance(known, dict) or not isinstance(wanted, dict):
        return False
    arms, more = known.get("design"), wanted.get("design")
    if not isinstance(arms, dict) or not isinstance(more, dict):
        return False
    same = all(name in more and canonical_text(more[name]) == canonical_text(arm) for name, arm in arms.items())
    return same and canonical_text({**known, "design": None}) == canonical_text({**wanted, "design": None})
