"""One trial: its stages, what has become of them, and which may start now. Immutable; a row makes another."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import State, TrialView
from ledger.records import Record, Status, TrialRow, TrialStatus, curve_of
from ledger.selected_settings import trial_status
from runners.scheduling.results import tokens_of, value_at_hurdle
from runners.stages.stage import Stage
from runners.work_queue import StageTask

STUCK = (Status.DIVERGED, Status.FAILED)


@dataclass(frozen=True)
class TrialPlan:
    """What a candidate goes through at one pretraining seed when nothing stops it."""

    row: TrialRow
    cohort: int
    stages: Mapping[str, Stage]
    """By label, in order."""
    pretraining: tuple[str, ...]
    """Labels of the pretraining stages, one per rung and one to the end."""
    judged: tuple[str, ...] = ()
    """Labels of the stages whose values the hurdles look at, one per hurdle."""
    gates: tuple[str, ...] = ()
    """Labels of further stages that all that follow them read."""
    probed: bool = False
    """Whether hurdles look at a probe's score, not at the held-out loss."""
    exempt: bool = False
    """Never judged: the baseline."""
    features: tuple[float, ...] = ()
    """Numbers that describe the candidate to a hurdle."""


@dataclass(frozen=True)
class Trial:
    """A trial as the rows of the ledger leave it."""

    plan: TrialPlan
    records: Mapping[str, Record] = field(default_factory=dict)
    """The latest of each label, in the order in which the labels first ended."""
    verdicts: tuple[HurdleDecision, ...] = ()
    audited: bool = False
    """Stopped, and trained to the end all the same, to see whether that was right."""

    def with_record(self, record: Record) -> "Trial":
        """Return the trial after a stage has ended."""
        return replace(self, records={**self.records, record.label: record})

    def with_verdict(self, verdict: HurdleDecision) -> "Trial":
        """Return the trial after a hurdle's decision."""
        return replace(self, verdicts=(*self.verdicts, verdict))

    def as_audited(self) -> "Trial":
        """Return the trial after the audit has chosen it."""
        return replace(self, audited=True)

    @property
    def name(self) -> str:
        """`arm/seed`."""
        return self.plan.row.name

    @cached_property
    def statuses(self) -> Mapping[str, Status]:
        """How each stage that has ended did so."""
        return {label: record.status for label, record in self.records.items()}

    @cached_property
    def stopped(self) -> bool:
        """Whether a hurdle has stopped it."""
        return not all(verdict.cleared for verdict in self.verdicts)

    @cached_property
    def barred(self) -> bool:
        """Whether it goes no further: stopped at a hurdle, or its pretraining has failed or diverged."""
        if self.stopped and not self.audited:
            return True
        failed = any(self.statuses.get(label) is Status.FAILED for label in self.plan.judged)
        return failed or any(self.statuses.get(label) in STUCK for label in self.plan.pretraining)

    @property
    def failed(self) -> bool:
        """Whether a stage of it has failed and is to be tried again by the next run."""
        return Status.FAILED in self.statuses.values()

    @cached_property
    def ended(self) -> bool:
        """Whether no stage of it will run any more."""
        return self.barred or all(label in self.statuses for label in self._reachable())

    @property
    def status(self) -> TrialStatus:
        """Its status, as a report of this moment would say, where none of its stages is running."""
        return trial_status(self.statuses, self.stopped, self.ended)

    @cached_property
    def missing(self) -> tuple[StageTask, ...]:
        """Every stage that has not ended, in order, whether or not it will run."""
        return tuple(
            StageTask(self.name, label, stage)
            for label, stage in self.plan.stages.items()
            if label not in self.statuses
        )

    @cached_property
    def ready(self) -> tuple[StageTask, ...]:
        """The stages that may run now: the next pretraining stage, or any fine-tuning behind the last.

        At a hurdle nothing starts before the decision.
        """
        labels = frozenset(self._startable())
        return tuple(task for task in self.missing if task.label in labels) if labels else ()

    def _startable(self) -> Iterator[str]:
        if self.barred:
            return
        for label in self._reachable():
            done = label in self.statuses
            if not done:
                yield label
            if self._holds_back(label) and (not done or self._undecided(label)):
                return  # whatever follows reads this stage, or is not allowed yet

    def _holds_back(self, label: str) -> bool:
        """Whether nothing behind a stage starts before it has ended."""
        return any(label in labels for labels in (self.plan.pretraining, self.plan.judged, self.plan.gates))

    def _reachable(self) -> Iterator[str]:
        """Yield the stages up to a gate that has failed or diverged."""
        for label in self.plan.stages:
            yield label
            if label in self.plan.gates and self.statuses.get(label) in STUCK:
                return

    def _undecided(self, label: str) -> bool:
        if self.plan.exempt or self.audited or label not in self.plan.judged:
            return False
        return self.plan.judged.index(label) >= len(self.verdicts)

    @property
    def waits(self) -> bool:
        """Whether it is at a hurdle without a decision."""
        return self._state is State.WAITING

    @cached_property
    def view(self) -> TrialView:
        """The trial as hurdles see it: what came after a stop is not shown."""
        shown = len(self.verdicts) if self.stopped else len(self._values)
        curve, settled = self._curve
        return TrialView(
            name=self.name,
            cohort=self.plan.cohort,
            state=self._state,
            values=self._values[:shown],
            decisions=self.verdicts,
            exempt=self.plan.exempt,
            curve=() if self.audited else tuple(sorted(curve.items())),
            points_at_last_rung=settled,
            features=self.plan.features,
        )

    @cached_property
    def _state(self) -> State:
        """Its state to hurdles: a failed trial is still on its way, because the next run tries it again."""
        diverged = any(self.statuses.get(label) is Status.DIVERGED for label in self.plan.pretraining)
        if self.plan.exempt or diverged or self.stopped or len(self.verdicts) == len(self.plan.judged):
            return State.DONE
        return State.WAITING if len(self._values) > len(self.verdicts) else State.MOVING

    @cached_property
    def _results(self) -> tuple[Record, ...]:
        return tuple(record for record in self.records.values() if record.status is not Status.FAILED)

    @cached_property
    def _values(self) -> tuple[float | None, ...]:
        """At each hurdle reached, such that smaller is better."""
        return tuple(
            value_at_hurdle(record, self.plan.probed) for record in self._results if record.label in self.plan.judged
        )

    @cached_property
    def _curve(self) -> tuple[dict[int, float], int]:
        """The value by tokens seen, and how many of its points there were at the last hurdle reached."""
        curve: dict[int, float] = {}
        settled = 0
        for record in self._results:
            if record.label in self.plan.pretraining and not self.plan.probed:
                curve |= curve_of(record)
            if record.label in self.plan.judged:
                value = value_at_hurdle(record, self.plan.probed)
                curve |= {} if value is None else {tokens_of(record.label): value}
                settled = len(curve)
        return curve, settled
