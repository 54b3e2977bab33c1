"""Amendments: later versions of an experiment in one ledger, and the rows that it declares now.

A version has other arms, seeds, tasks, claims or margins. What a later one leaves out is hidden, and shown again when
a still later one declares it again; nothing is removed. The ledger's sequence numbers order amendments and records,
independent of the clock; the time of day is display only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steeplechase.analysis.difference import MeanTest
from steeplechase.configuration.claims import parse_claim
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE
from steeplechase.configuration.plugin_options import OPTIONS
from steeplechase.configuration.stage_label import PRETRAIN, StageLabel
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import CorruptionError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import Ledger, LedgerRows, numbered_facts
from steeplechase.ledger.facts import Amendment
from steeplechase.ledger.records import ArmRow, Decision, Record, TrialRow
from steeplechase.ledger.rows import parsed, with_texts
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


@dataclass(frozen=True)
class DeclaredRows:
    """The rows of a ledger that its latest amendment declares; implements `LedgerRows`."""

    ledger: LedgerRows
    amendment: Amendment

    @property
    def path(self) -> Path:
        """The file or folder of the rows."""
        return self.ledger.path

    def fact(self, name: str) -> JsonValue:
        """Return a fact, None if it was never written; `labels` are those of the amendment."""
        return self._declared["labels"] if name == "labels" else self.ledger.fact(name)

    def arms(self) -> tuple[ArmRow, ...]:
        """Return the declared arms that have a row, in the order and with the contents of the declaration.

        A candidate is as old as the first arm that had it, under any name; another one of that name is later.
        """
        written = {arm.name: arm for arm in self.ledger.arms()}  # loads the plugins of its candidates
        earliest = {arm.identity: arm.after_record for arm in reversed(written.values())}
        return tuple(
            replace(
                arm,
                after_record=earliest.get(arm.identity, self.amendment.after_record),
                cohort=written[arm.name].cohort,
            )
            for arm in self._arms
            if arm.name in written
        )

    def trials(self) -> tuple[TrialRow, ...]:
        """Return the trials of declared arms and seeds, arm after arm; of extra seeds those that have a row."""
        seeds = self._declared["seeds"]
        places = {arm["name"]: place for place, arm in enumerate(self._declared["arms"])}
        found = [row for row in self.ledger.trials() if row.arm in places and (not seeds or row.seed in seeds)]
        order = {seed: place for place, seed in enumerate(seeds or ())}
        return tuple(sorted(found, key=lambda row: (places[row.arm], order.get(row.seed, 0))))

    def records(self) -> tuple[Record, ...]:
        """Return the records of declared stages, in the order in which they were written."""
        trials, shared = self._trial_names(), self._declared["shared"]
        return tuple(
            record
            for record in self.ledger.records()
            if (record.trial is None and shared.get(record.label) == record.key)
            or (record.trial in trials and record.label in self._stages)
        )

    def decisions(self) -> tuple[Decision, ...]:
        """Return the decisions on declared trials, in the order in which they were taken."""
        trials = self._trial_names()
        return tuple(decision for decision in self.ledger.decisions() if decision.trial in trials)

    def _trial_names(self) -> frozenset[str]:
        return frozenset(row.name for row in self.trials())

    @cached_property
    def _declared(self) -> Mapping[str, Any]:
        assert self.amendment.declared is not None
        return self.amendment.declared

    @cached_property
    def _arms(self) -> tuple[ArmRow, ...]:
        try:
            return tuple(parsed(ArmRow, with_texts(arm)) for arm in self._declared["arms"])
        except ValueError as fault:
            raise CorruptionError(f"{self.path}: an arm of the last amendment: {fault}; restore the file") from fault

    @cached_property
    def _stages(self) -> frozenset[str]:
        return frozenset(self._declared["stages"])


class ReadOnce:
    """The rows of a ledger as they were when each table was first asked for; implements `LedgerRows`."""

    def __init__(self, ledger: LedgerRows) -> None:
        self.path, self.fact = ledger.path, ledger.fact
        self.arms, self.trials = cache(ledger.arms), cache(ledger.trials)
        self.records, self.decisions = cache(ledger.records), cache(ledger.decisions)


def declared_rows(ledger: LedgerRows) -> LedgerRows:
    """Return the rows that the experiment declares now: all of them, if no amendment hides any."""
    latest = amendments(ledger)[-1:]
    return DeclaredRows(ledger, latest[0]) if latest and latest[0].declared is not None else ledger


def refuse_unknown_rungs(ledger: LedgerRows, labels: Sequence[str]) -> None:
    """Raise CorruptionError for a decision at a hurdle behind the last rung."""
    rungs = sum(StageLabel.parse(label).kind == PRETRAIN for label in labels)
    for decision in ledger.decisions():
        if decision.level >= rungs:
            fault = f"a decision on {decision.trial[:80]!r} is of hurdle {decision.level + 1}, of {rungs} rungs"
            raise CorruptionError(f"{ledger.path}: {fault}; restore the file")
