"""What a run has used of its limits, from the ledger's rows and the running stages, and whether more may start."""

import time
from collections.abc import Callable, Iterable, Sequence

from runners.journal import Journal
from runners.limits import Limits, Spent, tokens_of
from runners.work_queue import StageTask, TaskId
from steeplechase.ledger.amendments import declared_rows
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.sessions import Session
from steeplechase.ledger.stage_results.training import DivergedPretraining, PretrainResult

NOTHING = Spent()


class LimitStop(Exception):
    """Ends the stages of a run at a limit; `run` turns it into LimitReached once the ledger is closed."""

    def __init__(self, reason: str, unfinished_seconds: float) -> None:
        self.reason, self.unfinished_seconds = reason, unfinished_seconds
        super().__init__(reason)


class SpentInLedger:
    """The tokens and seconds of the computed stages among records; a failed one has neither."""

    def __init__(self, task_of: Callable[[TaskId], StageTask]) -> None:
        self._task_of, self._seen = task_of, 0
        self._by_stage: dict[TaskId, tuple[int, float]] = {}

    def of(self, records: Sequence[Record]) -> Spent:
        """Return what all records have spent; those of the last call are the first ones."""
        for record in records[self._seen :]:
            if record.status is not Status.FAILED:  # a record with other metrics takes the place of the first one
                self._by_stage[record.trial, record.label] = self._spent(record)
        self._seen = len(records)
        tokens, seconds = zip(*self._by_stage.values(), strict=True) if self._by_stage else ((), ())
        return Spent(tokens=sum(tokens), stage_seconds=sum(seconds))

    def _spent(self, record: Record) -> tuple[int, float]:
        if record.reused:
            return 0, 0.0
        task = self._task_of((record.trial, record.label))
        return tokens_of(task), record.seconds * task.stage.declaration.processes


def spent_on_hidden(rows: LedgerRows) -> Spent:
    """Return what the computed stages have spent that the latest version of an experiment leaves out.

    Tokens of the longer sequences count from the beginning of their training.
    """
    if (declared := declared_rows(rows)) is rows:
        return NOTHING
    shown = {record.sequence for record in declared.records()}
    recipes = {arm.name: arm.candidate.recipe for arm in rows.arms()}
    spent, trained = dict[TaskId, tuple[int, float]](), dict[str, int]()
    for record in rows.records():
        tokens, seconds = 0, record.seconds
        if record.trial is not None and isinstance(record.result, PretrainResult | DivergedPretraining):
            seconds *= recipes[record.trial.rpartition("/")[0]].processes
            before, trained[record.trial] = trained.get(record.trial, 0), int(record.result.tokens)
            tokens = trained[record.trial] - before
        if record.sequence not in shown and not record.reused and record.status is not Status.FAILED:
            spent[record.trial, record.label] = tokens, seconds
    return Spent(
        tokens=sum(each for each, _ in spent.values()), stage_seconds=sum(each for _, each in spent.values())
    )


class Meter:
    """Holds a run against its limits; `hidden` is what was spent on stages that the experiment leaves out now."""

    def __init__(
        self,
        limits: Limits,
        journal: Journal,
        sessions: Iterable[Session] = (),
        began: float | None = None,
        hidden: Spent = NOTHING,
    ) -> None:
        self._limits, self._journal, self._hidden = limits, journal, hidden
        self._began = time.monotonic() if began is None else began
        self._interrupted = sum(session.unfinished_seconds for session in sessions)
        self._starts: dict[TaskId, float] = {}
        self._absent: set[TaskId] = set()
        """Stages beyond the token limit that have no result yet."""
        self._counted, self._in_ledger, self._recorded = -1, Spent(), SpentInLedger(journal.state.task_of)

    @property
    def stage_seconds(self) -> float | None:
        """The longest time of a stage without progress; None if it is to be derived."""
        return self._limits.stage_limit

    def allows(self, task: StageTask) -> bool:
        """Return whether a stage may start; a result that exists already costs nothing."""
        if self._limits.stop_after_tokens is None or self._limits.allows(task, self._spent()):
            return True
        if task.task_id not in self._absent and not self._journal.has_result(task):
            self._absent.add(task.task_id)
        return task.task_id not in self._absent

    def check(self) -> None:
        """Raise LimitStop if a limit ends the run now."""
        running_seconds = self.running_seconds()  # without limits too: the session may be interrupted
        if self._limits.watched and (reason := self._limits.reached(self._spent())) is not None:
            raise LimitStop(reason, running_seconds)

    def check_remaining(self, ready: Iterable[StageTask]) -> None:
        """Raise LimitStop if the limit bars every stage that remains, when none is running."""
        if all(not self.allows(task) for task in ready):
            raise LimitStop(self._limits.barred(self._spent()), 0.0)

    def _spent(self) -> Spent:
        rows, running = self._journal.state.rows, self._journal.started
        if (count := len(rows.records())) != self._counted:
            self._counted, self._in_ledger = count, self._recorded.of(rows.records())
        return Spent(
            time.monotonic() - self._began,
            self._hidden.tokens + self._in_ledger.tokens + sum(map(tokens_of, running.values())),
            self._hidden.stage_seconds + self._in_ledger.stage_seconds + self._interrupted + self.running_seconds(),
        )

    def running_seconds(self) -> float:
        """Return the seconds that the running stages have taken, over all workers."""
        now, running = time.monotonic(), self._journal.started
        self._starts = {name: self._starts.get(name, now) for name in running}
        return sum((now - start) * running[name].stage.declaration.processes for name, start in self._starts.items())
