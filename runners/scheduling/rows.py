"""The rows of a ledger in memory, for the scheduler and the samplers."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from runners.scheduling.decisions import AUDIT
from runners.search.warm_start import WARM_START
from steeplechase.configuration.arm import BASELINE
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.phase_plans import CHOICES, FINALISTS, TUNING, WINNER
from steeplechase.ledger.records import ArmRow, ArmWithoutCandidate, Decision, Record, TrialRow
from steeplechase.ledger.stage_results import Pretraining
from steeplechase.ledger.task_references import PROBE_REFERENCE

FACTS = (TUNING, CHOICES, WARM_START, PROBE_REFERENCE, AUDIT, FINALISTS, WINNER)
"""The facts of a ledger that the scheduler reads."""


@dataclass(frozen=True)
class Fact:
    """A write-once fact about the experiment."""

    name: str
    value: JsonValue


Row = Fact | ArmRow | TrialRow | Record | Decision


@dataclass
class Rows:
    """Rows by kind, in the order in which they were written; a `KnownRows`.

    Without what grows with the square of a search, or is far larger than the rest: the candidates of arms, the curves
    of trainings, and the reference trials of decisions, which may be all trials so far.
    """

    path: Path
    """Path of the ledger, for messages."""
    _facts: dict[str, JsonValue] = field(default_factory=dict)
    _arms: list[ArmWithoutCandidate] = field(default_factory=list)
    candidates: list[ArmWithoutCandidate] = field(default_factory=list)
    """The arms without the baseline and without repeats of finalists."""
    _trials: list[TrialRow] = field(default_factory=list)
    _records: list[Record] = field(default_factory=list)
    _decisions: list[Decision] = field(default_factory=list)

    def add(self, row: Row) -> Fact | ArmWithoutCandidate | TrialRow | Record | Decision:
        """Append a row; return what is kept of it."""
        match row:
            case Fact():
                self._facts.setdefault(row.name, row.value)
            case ArmRow():
                arm = ArmWithoutCandidate.of(row)
                self._arms.append(arm)
                if arm.name != BASELINE and arm.final_of is None:
                    self.candidates.append(arm)
                return arm
            case TrialRow():
                self._trials.append(row)
            case Record():
                if isinstance(row.result, Pretraining):
                    row = replace(row, result=row.result.without_curves)
                self._records.append(row)
            case Decision():
                row = replace(row, references=row.compared_with, cohort=())
                self._decisions.append(row)
        return row

    def fact(self, name: str) -> JsonValue:
        """Return a fact, None if it was not written."""
        return self._facts.get(name)

    def arms(self) -> tuple[ArmWithoutCandidate, ...]:
        """Return the arms in the order of the table."""
        return tuple(self._arms)

    def trials(self) -> tuple[TrialRow, ...]:
        """Return the trials in the order in which they were declared."""
        return tuple(self._trials)

    def records(self) -> tuple[Record, ...]:
        """Return the records in the order in which they were written."""
        return tuple(self._records)

    def decisions(self) -> tuple[Decision, ...]:
        """Return the decisions in the order in which they were taken."""
        return tuple(self._decisions)


def rows_of(ledger: LedgerRows) -> tuple[Row, ...]:
    """Return all rows that the scheduler reads, each after the rows that it refers to."""
    facts = tuple(Fact(name, ledger.fact(name)) for name in FACTS if ledger.fact(name) is not None)
    return (*ledger.arms(), *ledger.trials(), *ledger.records(), *ledger.decisions(), *facts)
