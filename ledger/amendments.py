"""Amendments: arms, claims and margins that were added to an experiment after its ledger was created.

The ledger's sequence numbers order amendments and records, independent of the clock; the time of day is display only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

from analysis.difference import MeanTest
from configuration.claims import parse_claim
from configuration.metrics import HELD_OUT_LOSS, SCORE
from foundation.schema import JsonValue, canonical_text
from ledger.database import Ledger, LedgerRows
from tasks.data_folder import with_paths_as_in

if TYPE_CHECKING:
    from configuration.loading import AnyExperiment

VERDICT_SECTIONS = ("claims", "paper", "comparison", "headline_metrics", "study", "equivalence_margin")
"""Sections that change no result, but the verdicts of a report."""
DEFAULTS = {"comparison": MeanTest.WELCH, "headline_metrics": [HELD_OUT_LOSS, SCORE]}
"""Values that equal a missing section: ledgers of earlier versions lack it."""
FACT = "amendment {}"


@dataclass(frozen=True)
class Amendment:
    """One amendment; `document` and `identity` are valid from then on."""

    after_record: int
    """Number of the last record of a trial before it; 0 if there was none."""
    moment: str
    """UTC time, for display only."""
    changed: tuple[str, ...]
    """Changed parts: `arms` or names in `VERDICT_SECTIONS`."""
    document: Mapping[str, JsonValue]
    identity: JsonValue
    impossible: JsonValue
    """The impossible points that were left out."""


def amendments(ledger: LedgerRows) -> tuple[Amendment, ...]:
    """Return the amendments, the earliest first."""
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
    """Record an amendment if the file only adds arms or changes claims; return False if it is another experiment."""
    earlier, identity = amendments(ledger), experiment.identity()
    known = with_paths_as_in(earlier[-1].identity if earlier else ledger.fact("identity"), identity)
    differs = canonical_text(known) != canonical_text(identity)
    if differs and not (experiment.may_grow and _adds_arms(known, identity)):
        return False
    before = earlier[-1].document if earlier else ledger.fact("document")
    document = experiment.model_dump(mode="json")
    changed = [part for part in VERDICT_SECTIONS if _part(before, part) != _part(document, part)]
    if differs or changed:
        entry: dict[str, JsonValue] = {
            "after_record": ledger.last_trial_record(),
            "moment": datetime.now(UTC).isoformat(timespec="seconds"),
            "changed": [*(["arms"] if differs else []), *changed],
            "document": document,
            "identity": identity,
            "impossible": experiment.impossible_points,
        }
        ledger.set_fact(FACT.format(len(earlier) + 1), entry)
    return True


def _part(document: object, name: str) -> str:
    """Return a section as canonical text; a missing section equals an empty one."""
    part = document.get(name) if isinstance(document, Mapping) else None
    if name == "claims" and isinstance(part, list):
        part = [str(parse_claim(str(text))) for text in part]  # independent of spaces
    if isinstance(part, dict):  # a field that earlier versions lack is empty in it
        part = {field: value for field, value in part.items() if value not in (None, [], {})}
    return canonical_text(part) if part and part != DEFAULTS.get(name) else ""


def _adds_arms(known: JsonValue, identity: JsonValue) -> bool:
    if not isinstance(known, dict) or not isinstance(identity, dict):
        return False
    arms, new = known.get("design"), identity.get("design")
    if not isinstance(arms, dict) or not isinstance(new, dict):
        return False
    unchanged = all(name in new and canonical_text(new[name]) == canonical_text(arm) for name, arm in arms.items())
    return unchanged and canonical_text({**known, "design": None}) == canonical_text({**identity, "design": None})
