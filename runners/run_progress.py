"""How far a run is: what has ended, what runs and what is left, as the live view shows it."""

from collections.abc import Mapping

from ledger.records import Record, TrialRow, TrialStatus
from runners.scheduling.state import RunState
from runners.work_queue import Place, StageTask


class RunProgress:
    """A view of one part of a run: the stages that all trials share, or the trials. It changes nothing."""

    def __init__(self, state: RunState, started: Mapping[Place, StageTask], shared: bool) -> None:
        self._state, self._started, self._shared = state, started, shared
        self.recorded: list[Record] = []
        """What this run has added to this part of the ledger."""

    @property
    def running(self) -> tuple[StageTask, ...]:
        """What has been started and has not ended."""
        return tuple(task for task in self._started.values() if (task.trial is None) is self._shared)

    @property
    def done(self) -> tuple[StageTask, ...]:
        """Every stage that has ended, in an earlier run, in the stage cache or in this run."""
        if self._shared:
            return tuple(task for task in self._state.shared_tasks if task.label in self._state.shared_records)
        return tuple(
            StageTask(name, label, trial.plan.stages[label])
            for name, trial in self._state.trials.items()
            for label in trial.statuses
        )

    @property
    def remaining(self) -> tuple[StageTask, ...]:
        """What is still to be done, running stages included, if no hurdle stops it."""
        if self._shared:
            return self._state.shared_missing
        return tuple(task for trial in self._state.live if not trial.barred for task in trial.missing)

    @property
    def statuses(self) -> tuple[tuple[TrialRow, TrialStatus], ...]:
        """The status of each trial that has been declared, in the order of the table; none of shared stages."""
        if self._shared:
            return ()
        names = {trial for trial, _ in self._started}
        return tuple(
            (trial.plan.row, TrialStatus.RUNNING if name in names else trial.status)
            for name, trial in self._state.trials.items()
        )
