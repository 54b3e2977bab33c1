"""The groundwork: stages that all trials share, run before any trial, each as soon as what it reads is there."""

from foundation.errors import ConflictError, MachineError, UserError
from ledger.artifacts import ArtifactStore, Outcome
from ledger.database import Ledger
from ledger.records import Record, Status, TrialRow, TrialStatus
from runners.scoring import scored
from runners.stages.stage import Stage
from runners.work_queue import Failure, StageTask

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


class Groundwork:
    """An agenda of shared stages; what is in the store already is recorded and never run."""

    def __init__(self, stages: dict[str, Stage], store: ArtifactStore, ledger: Ledger) -> None:
        self._stages, self._store, self._ledger = stages, store, ledger
        self._finished: set[str] = set()
        self._running: set[str] = set()
        self._attempts: dict[str, int] = {}
        self.recorded: list[Record] = []
        """What this run has added to the ledger."""
        self._recorded: set[str] = set()
        for record in ledger.records():
            if record.trial is None:
                refuse_another_key(record, stages[record.label], ledger)
                self._recorded.add(record.label)
        for label, stage in stages.items():
            self._take_from_store(label, stage)

    @property
    def over(self) -> bool:
        """Whether every shared stage is finished."""
        return len(self._finished) == len(self._stages)

    @property
    def running(self) -> tuple[StageTask, ...]:
        """What has been started and has not ended."""
        return tuple(StageTask(None, label, self._stages[label]) for label in sorted(self._running))

    @property
    def done(self) -> tuple[StageTask, ...]:
        """Every stage that has ended, in an earlier run, in the stage cache or in this run."""
        return tuple(
            StageTask(None, label, stage) for label, stage in self._stages.items() if label in self._finished
        )

    @property
    def standings(self) -> tuple[tuple[TrialRow, TrialStatus], ...]:
        """None: these stages belong to no trial."""
        return ()

    @property
    def remaining(self) -> tuple[StageTask, ...]:
        """What is still to be done, running stages included."""
        left = ((label, stage) for label, stage in self._stages.items() if label not in self._finished)
        return tuple(StageTask(None, label, stage) for label, stage in left)

    def next_work(self) -> StageTask | None:
        """Return a stage whose inputs are all there."""
        finished_keys = {self._stages[label].key for label in self._finished}
        for label, stage in self._stages.items():
            waiting = label not in self._finished and label not in self._running
            if waiting and all(source.key in finished_keys for source in stage.inputs.values()):
                self._running.add(label)
                return StageTask(None, label, stage)
        return None

    def finish(self, work: StageTask, end: Outcome | Failure) -> None:
        """Record a finished stage. Raises the UserError of a stage that refused, StageFailed of one that raised."""
        self._running.discard(work.label)
        if isinstance(end, Outcome):
            self._record(work.label, work.stage, end, reused=False)
            return
        self._attempts[work.label] = self._attempts.get(work.label, 0) + 1
        if not end.worker_died or self._attempts[work.label] >= ATTEMPTS:
            raise refusal_of(end) or StageFailed.of(work.label, end)

    def _take_from_store(self, label: str, stage: Stage) -> None:
        known = self._store.outcome(stage.kind, stage.key)
        if known is not None:
            self._record(label, stage, known, reused=True)

    def _record(self, label: str, stage: Stage, outcome: Outcome, reused: bool) -> None:
        if label not in self._recorded:
            result = scored(stage, outcome, self._store)
            record = Record(0, None, stage.kind, label, stage.key, outcome.status, result, outcome.seconds, reused)
            self.recorded.append(self._ledger.add_record(record))
        assert outcome.status is Status.FINISHED
        self._finished.add(label)


def refuse_another_key(record: Record, stage: Stage, ledger: Ledger) -> None:
    """Raise ConflictError where a result was made from other data, other code or other libraries than today's."""
    if record.key != stage.key:
        place = " ".join(filter(None, [record.trial, record.label]))
        message = "was made from other data, code or library versions than there are now; the two are never mixed"
        raise ConflictError([f"{ledger.path}: {place} {message}.", "Did you mean another --out folder?"])


def refusal_of(failure: Failure) -> UserError | None:
    """Return the refusal that a stage raised in its worker, None where it raised something else."""
    for kind in UserError.__subclasses__():
        if kind.exit_code == failure.exit_code:
            return kind(failure.error.partition(": ")[2].split("\n"))
    return None
