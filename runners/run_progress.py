"""Progress of a run for the live view: finished, running and remaining stages."""

from collections.abc import Mapping

from runners.scheduling.state import RunState
from runners.work_queue import StageTask, TaskId
from steeplechase.ledger.records import Record, TrialRow, TrialStatus


class RunProgress:
    """Read-only view of half a run, shared stages or trials, without what --arms, --seeds and --tasks leave out."""

    def __init__(self, state: RunState, started: Mapping[TaskId, StageTask], shared: bool) -> None:
        self._state, self._started, self._shared = state, started, shared
        self.recorded: list[Record] = []
        """Records that this run has added to this part of the ledger."""

    @property
    def running(self) -> tuple[StageTask, ...]:
        """The stages that are running."""
        return tuple(task for task in self._started.values() if (task.trial is None) is self._shared)

    @property
    def done(self) -> tuple[Record, ...]:
        """The records of the finished stages: of earlier runs, reused, or of this run."""
        if self._shared:
            return tuple(self._state.shared_records.values())
        return tuple(
            record
            for trial in self._state.trials.values()
            for label, record in trial.records.items()
            if self._state.runs_stage(trial.plan.row, label)
        )

    def beside(self) -> int:
        """Return the number of stages of the other part, as far as they are known; not to be called at every look."""
        return self._state.stages_of_trials() if self._shared else len(self._state.shared_tasks)

    def task_of(self, record: Record) -> StageTask:
        """Return the stage that a record of this part is the result of."""
        return self._state.task_of((record.trial, record.label))

    @property
    def remaining(self) -> tuple[StageTask, ...]:
        """The remaining stages, running ones included, if no hurdle stops a trial."""
        if self._shared:
            return self._state.shared_pending
        return tuple(
            task for trial in self._state.live if not trial.terminated for task in self._state.pending_of(trial)
        )

    @property
    def statuses(self) -> tuple[tuple[TrialRow, TrialStatus], ...]:
        """The status of each declared trial that is run now, in the order of the table; empty for shared stages."""
        if self._shared:
            return ()
        names = {trial for trial, _ in self._started}
        return tuple(
            (trial.plan.row, TrialStatus.RUNNING if name in names else trial.status)
            for name, trial in self._state.trials.items()
            if self._state.runs(trial.plan.row)
        )
