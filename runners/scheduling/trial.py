"""A trial on its course: its stages, what has become of them, and which may start now."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from configuration.hurdles.decision import HurdleDecision
from configuration.hurdles.population import State, TrialView
from ledger.records import Record, Status, TrialRow, TrialStatus, final_loss_of
from ledger.selected_settings import standing_of
from runners.stages.stage import Stage

STUCK = (Status.DIVERGED, Status.FAILED)


@dataclass(eq=False)
class Trial:
    """What is left of a candidate at one pretraining seed, and why."""

    row: TrialRow
    cohort: int
    stages: dict[str, Stage]
    marks: tuple[str, ...]
    """Labels of the pretraining stages."""
    judged: tuple[str, ...] = ()
    """Labels of the stages whose values the hurdles look at, one per hurdle."""
    gates: tuple[str, ...] = ()
    """Labels of further stages that all that follow them read."""
    exempt: bool = False
    """Never judged: the baseline."""
    features: tuple[float, ...] = ()
    audited: bool = False
    """Stopped, and trained to the end all the same, to see whether that was right."""
    statuses: dict[str, Status] = field(default_factory=dict)
    values: list[float | None] = field(default_factory=list)
    """At each hurdle reached, such that smaller is better."""
    curve: dict[int, float] = field(default_factory=dict)
    """Value by tokens seen."""
    settled: int = 0
    """Points of the curve up to the last hurdle reached."""
    verdicts: list[HurdleDecision] = field(default_factory=list)
    final_loss: float | None = None
    """The held-out loss after the whole budget, None where it has not come so far."""
    running: set[str] = field(default_factory=set)

    @property
    def stopped(self) -> bool:
        """Whether a hurdle has stopped it."""
        return not all(verdict.cleared for verdict in self.verdicts)

    @property
    def barred(self) -> bool:
        """Whether it goes no further: stopped at a hurdle, or its pretraining has failed or diverged."""
        if self.stopped and not self.audited:
            return True
        failed = any(self.statuses.get(label) is Status.FAILED for label in self.judged)
        return failed or any(self.statuses.get(label) in STUCK for label in self.marks)

    @property
    def failed(self) -> bool:
        """Whether a stage of it has failed and is to be tried again by the next run."""
        return Status.FAILED in self.statuses.values()

    @property
    def ended(self) -> bool:
        """Whether nothing of it will run any more."""
        return not self.running and (self.barred or all(label in self.statuses for label in self._reachable()))

    @property
    def status(self) -> TrialStatus:
        """How it stands, as a report of this moment would say; a stopped trial that is audited runs again."""
        return TrialStatus.RUNNING if self.running else standing_of(self.statuses, self.stopped, self.ended)

    @property
    def waits(self) -> bool:
        """Whether it stands at a hurdle without a verdict."""
        return self._state is State.WAITING

    @property
    def view(self) -> TrialView:
        """The trial as hurdles see it: what came after a stop is not shown."""
        shown = len(self.verdicts) if self.stopped else len(self.values)
        return TrialView(
            name=self.row.name,
            cohort=self.cohort,
            state=self._state,
            values=tuple(self.values[:shown]),
            verdicts=tuple(self.verdicts),
            exempt=self.exempt,
            curve=() if self.audited else tuple(sorted(self.curve.items())),
            settled=self.settled,
            features=self.features,
        )

    @property
    def _state(self) -> State:
        """Where hurdles see it: a trial that has failed is still on its way, because the next run tries it again."""
        diverged = any(self.statuses.get(label) is Status.DIVERGED for label in self.marks)
        if self.exempt or diverged or self.stopped or len(self.verdicts) == len(self.judged):
            return State.DONE
        return State.WAITING if len(self.values) > len(self.verdicts) else State.MOVING

    def take(self, record: Record, value: float | None) -> None:
        """Take in a record that ends a stage, with the value that it brings to a hurdle."""
        self.statuses[record.label] = record.status
        if record.label == self.marks[-1] and record.status is Status.FINISHED:
            self.final_loss = final_loss_of(record)
        if record.label in self.judged:
            self.values.append(value)
            self.settled = len(self.curve)

    def startable(self) -> Iterator[str]:
        """Yield the stages that may start now: the next pretraining stage, or any fine-tuning behind the last.

        At a hurdle nothing starts before the verdict.
        """
        if self.barred:
            return
        for label in self._reachable():
            done = label in self.statuses
            if not done and label not in self.running:
                yield label
            if self._holds_back(label) and (not done or self._undecided(label)):
                return  # whatever follows reads this stage, or is not allowed yet

    def _holds_back(self, label: str) -> bool:
        """Whether nothing behind a stage starts before it has ended."""
        return any(label in labels for labels in (self.marks, self.judged, self.gates))

    def _reachable(self) -> Iterator[str]:
        """Yield the stages up to a gate that has failed or diverged."""
        for label in self.stages:
            yield label
            if label in self.gates and self.statuses.get(label) in STUCK:
                return

    def _undecided(self, label: str) -> bool:
        if self.exempt or self.audited or label not in self.judged:
            return False
        return self.judged.index(label) >= len(self.verdicts)
