"""One trial: the labels of its stages, their records, and what may start now. Immutable: a row gives a new trial."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from steeplechase.configuration.hurdles.population import State, TrialView
from steeplechase.ledger.records import Record, Status, TrialRow, TrialStatus, final_loss_of, primary_score
from steeplechase.ledger.trial_history import score_of, trial_status

UNSUCCESSFUL = (Status.DIVERGED, Status.FAILED)


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """The stages of a candidate at one pretraining seed if no hurdle stops it."""

    row: TrialRow
    cohort: int
    labels: tuple[str, ...]
    """Labels of its stages, in order."""
    pretrain_labels: tuple[str, ...]
    """Labels of the pretraining stages, one per rung and one to the end."""
    hurdle_labels: tuple[str, ...] = ()
    """Labels of the stages whose values the hurdles compare, one per hurdle."""
    scored_at_end: tuple[str, ...] = ()
    """Labels of the fine-tunings whose mean score hurdles see at the end; where empty, they see the held-out loss."""
    gates: tuple[str, ...] = ()
    """Labels of other stages that are inputs of all later ones."""
    probed: bool = False
    """Whether hurdles compare the score of a probe instead of the held-out loss."""
    exempt: bool = False
    """Whether hurdles never stop it: the baseline, and the trials of the final comparison."""
    final: bool = False
    """Whether it is of the final comparison of a search, which no hurdle sees."""


@dataclass(frozen=True, slots=True)
class Trial:
    """State of a trial after the rows applied so far."""

    plan: TrialPlan
    records: Mapping[str, Record] = field(default_factory=dict)
    """The latest record of each label, in the order of the first records."""
    cleared: tuple[bool, ...] = ()
    """Of each hurdle that has decided on it, whether it cleared it."""
    audited: bool = False
    """Whether it was stopped and is trained to the end nevertheless, as a control sample."""

    def with_record(self, record: Record) -> "Trial":
        """Return the trial with the record of a finished stage."""
        return replace(self, records={**self.records, record.label: record})

    def with_decision(self, cleared: bool) -> "Trial":
        """Return the trial with one more hurdle decision."""
        return replace(self, cleared=(*self.cleared, cleared))

    def as_audited(self) -> "Trial":
        """Return the trial as part of the audit."""
        return replace(self, audited=True)

    @property
    def name(self) -> str:
        """`arm/seed`."""
        return self.plan.row.name

    @property
    def statuses(self) -> Mapping[str, Status]:
        """Status of each finished stage by label."""
        return {label: record.status for label, record in self.records.items()}

    @property
    def stopped(self) -> bool:
        """Whether a hurdle has stopped it."""
        return not all(self.cleared)

    @property
    def terminated(self) -> bool:
        """Whether it ended early: stopped at a hurdle, or pretraining failed or diverged."""
        if self.stopped and not self.audited:
            return True
        failed = any(self._status(label) is Status.FAILED for label in self.plan.hurdle_labels)
        return failed or any(self._status(label) in UNSUCCESSFUL for label in self.plan.pretrain_labels)

    def _status(self, label: str) -> Status | None:
        record = self.records.get(label)
        return None if record is None else record.status

    @property
    def failed(self) -> bool:
        """Whether one of its stages has failed; the next run retries it."""
        return any(record.status is Status.FAILED for record in self.records.values())

    @property
    def ended(self) -> bool:
        """Whether none of its stages will run."""
        return self.terminated or all(label in self.records for label in self._reachable())

    @property
    def status(self) -> TrialStatus:
        """Its status as in reports, if none of its stages is running."""
        return trial_status(self.statuses, self.stopped, self.ended)

    @property
    def pending(self) -> tuple[str, ...]:
        """The label of every stage without a record, in order, whether or not it will run."""
        return tuple(label for label in self.plan.labels if label not in self.records)

    @property
    def ready(self) -> tuple[str, ...]:
        """The labels of the stages that may run now: the next pretraining, or any fine-tuning after the last one.

        At a hurdle, none may run before the decision.
        """
        return tuple(self._startable())

    def _startable(self) -> Iterator[str]:
        if self.terminated:
            return
        for label in self._reachable():
            done = label in self.records
            if not done:
                yield label
            if self._blocks_later(label) and (not done or self._undecided(label)):
                return  # later stages have this one as input, or need the decision

    def _blocks_later(self, label: str) -> bool:
        """Whether later stages start only after this one has ended."""
        plan = self.plan
        return any(label in labels for labels in (plan.pretrain_labels, plan.hurdle_labels, plan.gates))

    def _reachable(self) -> Iterator[str]:
        """Yield the stages, up to the first gate that has failed or diverged."""
        for label in self.plan.labels:
            yield label
            if label in self.plan.gates and self._status(label) in UNSUCCESSFUL:
                return

    def _undecided(self, label: str) -> bool:
        if self.plan.exempt or self.audited or label not in self.plan.hurdle_labels:
            return False
        return self.plan.hurdle_labels.index(label) >= len(self.cleared)

    @property
    def waiting(self) -> bool:
        """Whether it has reached a hurdle that has not decided on it."""
        return self._state is State.WAITING

    @property
    def view(self) -> TrialView:
        """The trial as hurdles see it: without results after a stop."""
        values = self._values
        shown = len(self.cleared) if self.stopped else len(values)
        return TrialView(
            name=self.name,
            cohort=self.plan.cohort,
            state=self._state,
            values=values[:shown],
            level=len(self.cleared),
            final=self._final,
            exempt=self.plan.exempt,
        )

    @property
    def _state(self) -> State:
        """Its state for hurdles: a failed trial is still MOVING, because the next run retries it."""
        diverged = any(self._status(label) is Status.DIVERGED for label in self.plan.pretrain_labels)
        if self.plan.exempt or diverged or self.stopped or len(self.cleared) == len(self.plan.hurdle_labels):
            return State.DONE
        return State.WAITING if len(self._values) > len(self.cleared) else State.MOVING

    @property
    def _final(self) -> float | None:
        """Value at the end of its training; smaller is better."""
        if self.stopped:
            return None
        if self.plan.scored_at_end:
            score = score_of(self.records.values(), self.plan.scored_at_end)
            return None if score is None else -score
        last = self.records.get(self.plan.pretrain_labels[-1])
        return None if last is None else value_at_hurdle(last, probed=False)

    @property
    def _values(self) -> tuple[float | None, ...]:
        """Value at each hurdle reached; smaller is better."""
        return tuple(
            value_at_hurdle(record, self.plan.probed)
            for record in self.records.values()
            if record.status is not Status.FAILED and record.label in self.plan.hurdle_labels
        )


def value_at_hurdle(record: Record, probed: bool) -> float | None:
    """Return the value that hurdles compare, smaller is better; None if the stage has none."""
    if record.status is not Status.FINISHED:
        return None
    value = primary_score(record) if probed else final_loss_of(record)
    sign = -1.0 if probed else 1.0  # larger scores are better
    return None if value is None else sign * value
