"""The rows of a ledger that its experiment declares now: what a later version of the file leaves out is hidden.

Nothing is removed: rows that are hidden are shown again when a still later version declares them again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from steeplechase.configuration.stage_label import PRETRAIN, StageLabel
from steeplechase.foundation.errors import CorruptionError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.amendments import amendments
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.facts import Amendment
from steeplechase.ledger.records import ArmRow, Decision, Record, TrialRow
from steeplechase.ledger.rows import parsed, with_texts


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
        """Return the declared arms that have a row, in the order and with the contents of the declaration."""
        written = {arm.name: arm for arm in self.ledger.arms()}  # loads the plugins of its candidates
        return tuple(self._current(arm, written[arm.name]) for arm in self._arms if arm.name in written)

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

    def _current(self, arm: ArmRow, row: ArmRow) -> ArmRow:
        """Return an arm with its time of declaration; a name that had another candidate before is a later arm."""
        if row.identity != arm.identity:
            return replace(arm, after_record=self.amendment.after_record)
        return replace(arm, after_record=row.after_record, cohort=row.cohort)

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
