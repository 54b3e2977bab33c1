"""The journal of a run: every row goes to the ledger first and then into the scheduler's state."""

from collections import Counter
from collections.abc import Iterable
from itertools import dropwhile

from configuration.experiment import Experiment
from configuration.fine_tuning_runs import fine_tuning_runs
from configuration.loading import AnyExperiment
from foundation.errors import MachineError, UserError
from foundation.schema import JsonValue
from ledger.artifacts import ArtifactStore, Outcome
from ledger.database import Ledger
from ledger.records import Record, Status
from ledger.stage_results import FailedStage, StageResult
from runners.dag import SharedStages, kind_of
from runners.latency_stages import LatencyStages
from runners.run_progress import RunProgress
from runners.scheduler import Proposals, Step, entering, next_step
from runners.scheduling.rows import Fact, Row, rows_of
from runners.scheduling.state import RunState
from runners.scoring import scored
from runners.search.next_arms import proposed_entries
from runners.search.tuning_phase import tuning_plan
from runners.search.warm_start import finished_elsewhere
from runners.work_queue import Failure, Place, StageTask

ATTEMPTS = 3  # a worker that dies (memory, a signal) is replaced twice before its stage counts as failed


class StageFailed(MachineError):
    """A stage that everything depends on raised, or its worker process died each time."""

    @classmethod
    def of(cls, label: str, failure: Failure) -> "StageFailed":
        """Return the error with the innermost line of the worker's trace, and what to do."""
        frames = [line.strip() for line in failure.trace.splitlines() if line.strip().startswith("File ")]
        where = [f"  at {frames[-1]}"] if frames else []
        remedy = "Everything finished is kept; once the cause is mended, the same command carries on."
        return cls([f"shared stage {label}: {failure.error}", *where, remedy])


class Journal:
    """The only writer of a run's rows. What a step decides is written down before it is acted on."""

    def __init__(
        self, experiment: AnyExperiment, shared: SharedStages | LatencyStages, store: ArtifactStore, ledger: Ledger
    ) -> None:
        self.store = store
        self.started: dict[Place, StageTask] = {}
        """What has been started and has not ended, in that order."""
        rows = rows_of(ledger)
        last = max((row.sequence for row in rows if isinstance(row, Record)), default=0)
        self.state = RunState(experiment, shared, ledger.path, resumed_after=last)
        self.shared, self.trials = (RunProgress(self.state, self.started, part) for part in (True, False))
        self._ledger = ledger
        runs = fine_tuning_runs(experiment.fine_tuning) if isinstance(experiment, Experiment) else ()
        self._searched = {run.label: run for run in runs}
        self._attempts: Counter[Place] = Counter()
        self._step: Step | None = None
        self._known_shared = {row.label: row for row in rows if isinstance(row, Record) and row.trial is None}
        self.state.refuse_other_keys(self._known_shared.values())
        self.state.take_all(row for row in rows if not (isinstance(row, Record) and row.trial is None))

    def find_shared(self) -> None:
        """Record every shared stage whose result is stored; the others are computed anew, recorded before or not."""
        for task in self.state.shared_missing:
            self.reuse(task)

    def reuse(self, task: StageTask) -> bool:
        """Record a stage whose result is in the store; return whether it is."""
        known = self.store.outcome(task.stage.kind, task.stage.key)
        if known is not None:
            self._record(task, known, reused=True)
        return known is not None

    def settle(self) -> Step:
        """Ask what follows, writing down all that is decided, until there is nothing to do but to run stages."""
        while self._step is None:
            step = next_step(self.state)
            if step.proposals_wanted is not None:
                step = self._proposed(step.proposals_wanted)
            if step.fact_wanted is not None:
                step = Step(facts=self._found(step.fact_wanted))
            if not self._write(step):
                self._step = step
        return self._step

    def start(self, task: StageTask) -> tuple[StageTask, ...]:
        """Note that a task is started; return the further stages of its trial, in order."""
        self.started[task.place] = task
        missing = () if task.trial is None else self.state.trials[task.trial].missing
        return tuple(dropwhile(lambda other: other.place != task.place, missing))[1:]

    def finish(self, task: StageTask, end: Outcome | Failure) -> None:
        """Record how a started stage ended, and what that settles. Raises what a stage refused, and StageFailed."""
        self.started.pop(task.place, None)
        if isinstance(end, Outcome):
            self._record(task, end, reused=False)
        else:
            self._fail(task, end)
        if task.trial is not None:
            self.settle()

    def _proposed(self, wanted: Proposals) -> Step:
        entries = proposed_entries(self.state.experiment, wanted.cohort, wanted.count, self.state.rows)
        return entering(self.state, entries) or wanted.otherwise

    def _found(self, name: str) -> dict[str, JsonValue]:
        find = {"tuning": tuning_plan, "warm_start": finished_elsewhere}[name]
        return {name: find(self.state.experiment)}

    def _write(self, step: Step) -> bool:
        """Write the rows of a step, those that belong together at once; return whether there were any."""
        written: list[Row] = []
        for name, value in step.facts.items():
            self._ledger.set_fact(name, value)
            written.append(Fact(name, self._ledger.fact(name)))
        if step.arms or step.trials or step.decisions:
            with self._ledger.together():
                for arm in step.arms:
                    self._ledger.add_arm(arm)
                for trial in step.trials:
                    self._ledger.add_trial(trial)
                decisions = [self._ledger.add_decision(decision) for decision in step.decisions]
            known = len(self.state.rows.arms())
            arms = self._ledger.arms()[known:] if step.arms else ()  # as a run that is resumed reads them
            written += [*arms, *step.trials, *decisions]
        self._take(written)
        return bool(written)

    def _take(self, rows: Iterable[Row]) -> None:
        self._step = None
        self.state.take_all(rows)

    def _record(self, task: StageTask, outcome: Outcome, reused: bool) -> None:
        if task.trial is None and task.label in self._known_shared:
            assert outcome.status is self._known_shared[task.label].status
            self._take([self._known_shared[task.label]])
            return
        result = scored(task.stage, outcome, self.store, self._searched.get(task.label))
        self._add(task, outcome.status, result, outcome.seconds, reused)

    def _fail(self, task: StageTask, failure: Failure) -> None:
        refusal = refusal_of(failure)
        if refusal is not None:
            raise refusal
        self._attempts[task.place] += 1
        if failure.worker_died and self._attempts[task.place] < ATTEMPTS:
            return
        if task.trial is None:
            raise StageFailed.of(task.label, failure)
        result = FailedStage(error=failure.error, trace=failure.trace, attempts=self._attempts[task.place])
        self._add(task, Status.FAILED, result, 0.0, reused=False)

    def _add(self, task: StageTask, status: Status, result: StageResult, seconds: float, reused: bool) -> None:
        kind = task.stage.kind if task.trial is None else kind_of(task.label, task.stage)
        row = Record(0, task.trial, kind, task.label, task.stage.key, status, result, seconds, reused)
        record = self._ledger.add_record(row)
        (self.shared if task.trial is None else self.trials).recorded.append(record)
        self._take([record])


def refusal_of(failure: Failure) -> UserError | None:
    """Return the refusal that a stage raised in its worker, None where it raised something else."""
    for kind in UserError.__subclasses__():
        if kind.exit_code == failure.exit_code:
            return kind(failure.error.partition(": ")[2].split("\n"))
    return None
