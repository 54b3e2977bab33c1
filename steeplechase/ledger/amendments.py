"""Amendments: later versions of an experiment in one ledger, with other arms, seeds, tasks, claims or margins.

The ledger's sequence numbers order amendments and records, independent of the clock; the time of day is display only.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from steeplechase.analysis.difference import MeanTest
from steeplechase.configuration.claims import parse_claim
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE
from steeplechase.configuration.plugin_options import OPTIONS
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import Ledger, LedgerRows, numbered_facts
from steeplechase.ledger.facts import Amendment
from steeplechase.tasks.data_folder import with_paths_as_in

if TYPE_CHECKING:
    from steeplechase.configuration.experiment import Experiment

VERDICT_SECTIONS = (
    *("claims", "paper", "comparison", "headline_metrics", "target_loss", "study", "equivalence_margin", "measure"),
)
"""Sections that change no result, but the verdicts of a report."""
DEFAULTS = {"comparison": MeanTest.WELCH, "headline_metrics": [HELD_OUT_LOSS, SCORE]}
"""Values that equal a missing section: ledgers of earlier versions lack it."""
FACT = "amendment {}"
OF_A_VERSION = ("scale", "importance", "parents", OPTIONS)
"""Facts of one version: its scale, what the end of a search knows, what it keeps of its plugins."""


def amendments(ledger: LedgerRows) -> tuple[Amendment, ...]:
    """Return the amendments, the earliest first."""
    return tuple(Amendment.model_validate(fact) for _, fact in numbered_facts(ledger, FACT))


def documents_of(ledger: LedgerRows) -> tuple[JsonValue, ...]:
    """Return the versions of a ledger's experiment, the latest first."""
    return (*(dict(each.document) for each in reversed(amendments(ledger))), ledger.fact("document"))


def numbered(name: str) -> str:
    """Return the pattern of a fact of one version of an experiment."""
    return f"{name} {{}}"


def set_fact_of_version(ledger: Ledger, name: str, value: JsonValue) -> None:
    """Write a fact about the latest version of an experiment."""
    number = len(amendments(ledger))
    ledger.set_fact(numbered(name).format(number) if number else name, value)


def fact_of_version(ledger: LedgerRows, name: str) -> JsonValue:
    """Return a fact about the latest version that has it, None if none has."""
    versions = (ledger.fact(numbered(name).format(number)) for number in range(len(amendments(ledger)), 0, -1))
    return next((fact for fact in versions if fact is not None), ledger.fact(name))


def latest_identity(ledger: LedgerRows, wanted: JsonValue) -> JsonValue:
    """Return the identity of the latest version of a ledger's experiment, its paths spelled as in the wanted one.

    None if the ledger has no experiment yet.
    """
    earlier = amendments(ledger)
    return with_paths_as_in(earlier[-1].identity if earlier else ledger.fact("identity"), wanted)


def amend(ledger: Ledger, experiment: "Experiment", declared: JsonValue, other_stages: bool) -> None:
    """Record a version of an experiment, if it differs from the latest one in what is run or in its verdicts.

    `declared` is what the version declares, None for all rows; `other_stages` is whether a shared stage differs.
    """
    earlier, identity = amendments(ledger), experiment.identity()
    known = latest_identity(ledger, identity)
    before = earlier[-1].document if earlier else ledger.fact("document")
    document = experiment.model_dump(mode="json")
    changed = [*_changed_parts(known, identity)]
    of_verdicts = (part for part in VERDICT_SECTIONS if part not in changed)
    changed += [part for part in of_verdicts if _part(before, part) != _part(document, part)]
    if changed or other_stages:
        entry: dict[str, JsonValue] = {
            "after_record": ledger.last_trial_record(),
            "moment": datetime.now(UTC).isoformat(timespec="seconds"),
            "changed": [*changed],
            "document": document,
            "identity": identity,
            "impossible": experiment.impossible_points,
            **({} if declared is None else {"declared": declared}),
        }
        ledger.set_fact(FACT.format(len(earlier) + 1), entry)


def _changed_parts(known: JsonValue, identity: JsonValue) -> Iterator[str]:
    """Yield the sections of an identity that differ; the arms, which a design makes, by that name."""
    assert isinstance(known, dict)
    assert isinstance(identity, dict)
    for part in sorted(known.keys() | identity.keys()):
        if canonical_text(known.get(part)) != canonical_text(identity.get(part)):
            yield "arms" if part == "design" else part


def _part(document: object, name: str) -> str:
    """Return a section as canonical text; a missing section equals an empty one."""
    part = document.get(name) if isinstance(document, Mapping) else None
    if name == "claims" and isinstance(part, list):
        part = [str(parse_claim(str(text))) for text in part]  # independent of spaces
    if isinstance(part, dict):  # a field that earlier versions lack is empty in it
        part = {field: value for field, value in part.items() if value not in (None, [], {})}
    return canonical_text(part) if part and part != DEFAULTS.get(name) else ""
