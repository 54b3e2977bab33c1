"""The journal of a run: every row is written to the ledger, then applied to the scheduler's state."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from runners.dag import SharedStages
from runners.part import WHOLE, Part
from runners.run_progress import RunProgress
from runners.scheduler import Step, next_step, proposed_step
from runners.scheduling.rows import Fact, Row, rows_of
from runners.scheduling.state import RunState
from runners.scheduling.trial import Trial
from runners.scoring import metrics_with_sources, scored_result
from runners.search.tuning_phase import tuning_plan
from runners.search.warm_start import earlier_results
from runners.stage_labels import kind_of
from runners.stages.stage import Stage
from runners.work_queue import Failure, StageTask, TaskId
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import FineTuningRun, fine_tuning_runs
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.foundation.errors import DataError, MachineError, UserError
from steeplechase.ledger.amendments import declared_rows
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.example_values import ExampleKeeper
from steeplechase.ledger.records import ArmRow, Record, Status
from steeplechase.ledger.reused_rows import NOTHING, ReusedRows
from steeplechase.ledger.stage_results import FailedStage, FineTuneResult, StageResult

ATTEMPTS = 3  # of a stage whose worker dies (out of memory, signal), before it is recorded as failed


class StageFailed(MachineError):
    """A shared stage raised, or its worker process died at every attempt."""

    @classmethod
    def of(cls, label: str, failure: Failure) -> "StageFailed":
        """Return the error with the innermost line of the worker's traceback, and a remedy."""
        frames = [line.strip() for line in failure.trace.splitlines() if line.strip().startswith("File ")]
        where = [f"  at {frames[-1]}"] if frames else []
        remedy = "Finished stages are kept; once the cause is fixed, the same command resumes the run."
        return cls([f"shared stage {label}: {failure.error}", *where, remedy])


def has_metrics(result: FineTuneResult, own_metrics: Mapping[str, Mapping[str, str]]) -> bool:
    """Return whether a fine-tuning's scores are of a user's metrics by task as they are now, and of no others."""
    return dict(result.own_metrics or {}) == dict(own_metrics.get(result.task, {}))


@dataclass(frozen=True)
class ReusedTrials:
    """Finds the records of whole trials in reused rows, so that no stage needs the weights of another."""

    rows: ReusedRows
    fine_tuning_runs: Mapping[str, FineTuningRun]
    """By label, of the experiment that runs."""
    own_metrics: Mapping[str, Mapping[str, str]]
    """By task, of the experiment that runs: a user's metrics, each with the hash of its source."""

    def record(self, state: RunState, task: StageTask) -> Record | None:
        """Return the record of a trial's stage; None if the rows lack it, or another stage of its trial."""
        found = self._record(task.label, task.stage.key)
        if found is None or task.trial is None:
            return None
        return found if self._has(state.trials[task.trial], state.stages_of(task.trial)) else None

    def _has(self, trial: Trial, stages: Mapping[str, Stage]) -> bool:
        """Return whether the rows have every stage of a trial, up to pretraining that diverged."""
        last = trial.plan.pretrain_labels[-1:]
        for label, stage in stages.items():
            record = self._record(label, stage.key)
            if record is None or (label in last and not self.rows.ends_training(stage.key)):
                return False
            if label in trial.plan.pretrain_labels and record.status is Status.DIVERGED:
                return True
        return True

    def _record(self, label: str, key: str) -> Record | None:
        """Return a record; of a fine-tuning only if its metrics, and the examples they are of, are those of here."""
        row, run = self.rows.find(key), self.fine_tuning_runs.get(label)
        if row is None:
            return None
        result = row.record.result
        if isinstance(result, FineTuneResult) and not has_metrics(result, self.own_metrics):
            return None
        choice = result.choice if isinstance(result, FineTuneResult) else None
        chosen_on = None if run is None else run.chosen_on
        return row.record if (None if choice is None else choice.chosen_on) == chosen_on else None


class Journal:
    """The only writer of a run's rows; decisions are written before they take effect."""

    def __init__(
        self,
        experiment: Experiment,
        shared: SharedStages,
        store: ArtifactStore,
        ledger: Ledger,
        reused: ReusedRows = NOTHING,
        part: Part = WHOLE,
    ) -> None:
        self.store = store
        self.started: dict[TaskId, StageTask] = {}
        """The running stages, in starting order."""
        self._rows = declared_rows(ledger)
        rows = rows_of(self._rows)
        last = max((row.sequence for row in rows if isinstance(row, Record)), default=0)
        self.state = RunState(experiment, shared, ledger.path, resumed_after=last)
        self.state.part = part
        self.shared_progress, self.trial_progress = (
            RunProgress(self.state, self.started, shared=part) for part in (True, False)
        )
        self._ledger, self._examples = ledger, ExampleKeeper(ledger, store)
        tuning = experiment.fine_tuning
        self._fine_tuning_runs = {run.label: run for run in fine_tuning_runs(tuning)}
        self._own_metrics = metrics_with_sources(tuning)
        self._reused = ReusedTrials(reused, self._fine_tuning_runs, self._own_metrics)
        self._attempts: Counter[TaskId] = Counter()
        self._step: Step | None = None
        self._recorded_shared = {row.label: row for row in rows if isinstance(row, Record) and row.trial is None}
        self.state.refuse_other_keys(self._recorded_shared.values())
        self.state.apply_all(row for row in rows if not (isinstance(row, Record) and row.trial is None))
        if self._rows is not ledger:  # hidden results too were there before an arm that is added
            self.state.last_trial_record = ledger.last_trial_record()

    def reuse_shared(self) -> None:
        """Record every shared stage whose result is stored; the others are recomputed, even if recorded before."""
        for task in self.state.shared_pending:
            self.reuse(task)

    @property
    def outdated(self) -> tuple[tuple[StageTask, Record], ...]:
        """The finished fine-tunings of trials whose record lacks a user's metric of now, or has one of then."""
        return tuple(
            (self.state.task_of((name, label)), record)
            for name, trial in self.state.trials.items()
            for label, record in trial.records.items()
            if self.state.experiment.may_grow and self._is_outdated(record)
        )

    def rescore(self) -> None:
        """Compute a user's metrics of now for all finished fine-tunings from their predictions; nothing is trained.

        The records are written in one transaction, so that no two trials have different metrics. Raises MachineError
        if predictions are no longer in the store.
        """
        found, rows = self.outdated, []
        outcomes = [self.store.outcome(task.stage.kind, task.stage.key) for task, _ in found]
        if None in outcomes:
            raise MachineError(_without_predictions(self._ledger, [record for _, record in found], outcomes))
        for (task, record), outcome in zip(found, outcomes, strict=True):
            assert outcome is not None
            rows.append(replace(record, result=self._scored(task, outcome)))
        with self._ledger.transaction():
            rows = [self._ledger.add_record(row) for row in rows]
        self._apply(rows)

    def has_result(self, task: StageTask) -> bool:
        """Return whether a trial's stage has a result, in a store or in reused rows, that `reuse` would record."""
        kind, key = task.stage.kind, task.stage.key
        if self.store.outcome(kind, key) is not None or self.store.lender_of(kind, key) is not None:
            return True
        return self._reused.record(self.state, task) is not None

    def reuse(self, task: StageTask) -> bool:
        """Record a stage if the store has its result, reused rows its trial, or a lender the stage; say whether."""
        kind, key = task.stage.kind, task.stage.key
        stored = self.store.outcome(kind, key)
        row = self._reused.record(self.state, task) if stored is None else None
        if row is not None:
            self._add(task, row.status, row.result, row.seconds, reused=True)
            return True
        stored = stored or self.store.borrow(kind, key)
        if stored is not None:
            self._record(task, stored, reused=True)
        return stored is not None

    def decide_next(self) -> Step:
        """Compute steps and write their rows, until a step has none; return that step."""
        while self._step is None:
            step = next_step(self.state)
            if step.requested_proposals is not None:
                step = proposed_step(self.state, step.requested_proposals)
            if step.requested_fact is not None:
                compute = {"tuning": tuning_plan, "warm_start": earlier_results}[step.requested_fact]
                step = Step(facts={step.requested_fact: compute(self.state.experiment)})
            if not self._write(step):
                self._step = step
        return self._step

    def start(self, task: StageTask) -> tuple[StageTask, ...]:
        """Mark a task as started; return the later stages of its trial in the part, in order."""
        self.started[task.task_id] = task
        pending = () if task.trial is None else self.state.pending_of(self.state.trials[task.trial])
        return tuple(dropwhile(lambda other: other.task_id != task.task_id, pending))[1:]

    def finish(self, task: StageTask, outcome: Outcome | Failure) -> None:
        """Record the outcome of a started stage and the decisions that follow.

        Raises the UserError that a stage raised, and StageFailed.
        """
        self.started.pop(task.task_id, None)
        if isinstance(outcome, Outcome):
            self._record(task, outcome, reused=False)
        else:
            self._fail(task, outcome)
        if task.trial is not None:
            self.decide_next()

    def _write(self, step: Step) -> bool:
        """Write the rows of a step in one transaction per kind; return whether there were any."""
        written: list[Row] = []
        for name, value in step.facts.items():
            self._ledger.set_fact(name, value)
            written.append(Fact(name, self._ledger.fact(name)))
        if step.arms or step.trials or step.decisions:
            with self._ledger.transaction():
                for arm in step.arms:
                    self._ledger.add_arm(arm)
                for trial in step.trials:
                    self._ledger.add_trial(trial)
                decisions = [self._ledger.add_decision(decision) for decision in step.decisions]
            written += [*self._as_resumed(step.arms), *step.trials, *decisions]
        self._apply(written)
        return bool(written)

    def _as_resumed(self, arms: Sequence[ArmRow]) -> list[ArmRow]:
        """Return new arms as a resumed run reads them; of a search without those of before, which may be many."""
        if not arms:
            return []
        names, hides = {arm.name for arm in arms}, self._rows is not self._ledger
        rows = self._rows.arms() if hides else self._ledger.arms(after=len(self.state.rows.arms()))
        return [row for row in rows if row.name in names]

    def _apply(self, rows: Iterable[Row]) -> None:
        self._step = None
        self.state.apply_all(rows)

    def _record(self, task: StageTask, outcome: Outcome, reused: bool) -> None:
        recorded = self._recorded_shared.get(task.label) if task.trial is None else None
        if recorded is not None and not self._is_outdated(recorded):
            assert outcome.status is recorded.status
            self._apply([recorded])
            return
        self._add(task, outcome.status, self._scored(task, outcome), outcome.seconds, reused)

    def _scored(self, task: StageTask, outcome: Outcome) -> StageResult:
        run = self._fine_tuning_runs.get(task.label)
        examples = None if run is None else self.state.shared_stages.get(str(StageLabel("examples", task=run.task)))
        return scored_result(task.stage, outcome, self.store, run, self._own_metrics, examples)

    def _is_outdated(self, record: Record) -> bool:
        return isinstance(record.result, FineTuneResult) and not has_metrics(record.result, self._own_metrics)

    def _fail(self, task: StageTask, failure: Failure) -> None:
        error = user_error_of(failure, task.label)
        if error is not None:
            raise error
        self._attempts[task.task_id] += 1
        if failure.worker_died and self._attempts[task.task_id] < ATTEMPTS:
            return
        if task.trial is None:
            raise StageFailed.of(task.label, failure)
        result = FailedStage(error=failure.error, trace=failure.trace, attempts=self._attempts[task.task_id])
        self._add(task, Status.FAILED, result, 0.0, reused=False)

    def _add(self, task: StageTask, status: Status, result: StageResult, seconds: float, reused: bool) -> None:
        kind = task.stage.kind if task.trial is None else kind_of(task.label, task.stage)
        row = Record(0, task.trial, kind, task.label, task.stage.key, status, result, seconds, reused)
        self._examples.keep(row, self.state.shared_records.values())
        record = self._ledger.add_record(row)
        (self.shared_progress if task.trial is None else self.trial_progress).recorded.append(record)
        self._apply([record])


def _without_predictions(ledger: Ledger, records: Sequence[Record], outcomes: Sequence[Outcome | None]) -> list[str]:
    """Return why metrics cannot be computed for finished fine-tunings, and what can be done."""
    missing = [record for record, outcome in zip(records, outcomes, strict=True) if outcome is None]
    count = f"{missing[0].label} of {missing[0].trial}" + (f" and {len(missing) - 1} more" if missing[1:] else "")
    return [
        f"{ledger.path}: fine_tuning.metrics differ from those of the finished fine-tunings, and the predictions of",
        f"  {count} are not in the store, so that the metrics cannot be computed for all; nothing was changed.",
        "Restore the stages, give their store, or declare the metrics that were declared before.",
    ]


def user_error_of(failure: Failure, label: str) -> UserError | None:
    """Return the UserError of a stage, that of a corpus with its setting; None for another exception."""
    lines, setting = failure.error.partition(": ")[2].split("\n"), StageLabel.parse(label).corpus_setting
    if setting is not None and failure.exit_code == DataError.exit_code:
        lines[0] = f"{setting}: {lines[0]}"
    return UserError.of_exit_code(failure.exit_code, lines)
