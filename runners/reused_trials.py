"""Trials that are in reused rows with every stage, so that none of their stages needs the weights of another."""

from collections.abc import Mapping
from dataclasses import dataclass

from runners.scheduling.trial import Trial
from runners.work_queue import StageTask
from steeplechase.configuration.fine_tuning_runs import FineTuningRun
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.reused_rows import ReusedRows
from steeplechase.ledger.stage_results import FineTuneResult


@dataclass(frozen=True)
class ReusedTrials:
    """Finds the records of whole trials in reused rows."""

    rows: ReusedRows
    fine_tuning_runs: Mapping[str, FineTuningRun]
    """By label, of the experiment that runs."""

    def record(self, trial: Trial, task: StageTask) -> Record | None:
        """Return the record of a stage; None if the rows lack it, or another stage of its trial."""
        found = self._record(task.label, task.stage.key)
        return found if found is not None and self._has(trial) else None

    def _has(self, trial: Trial) -> bool:
        """Return whether the rows have every stage of a trial, up to pretraining that diverged."""
        for label, stage in trial.plan.stages.items():
            record = self._record(label, stage.key)
            if record is None:
                return False
            if label in trial.plan.pretrain_labels and record.status is Status.DIVERGED:
                return True
        return True

    def _record(self, label: str, key: str) -> Record | None:
        """Return a record; of a fine-tuning only if its scores are of the examples that they are of here."""
        row, run = self.rows.find(key), self.fine_tuning_runs.get(label)
        if row is None:
            return None
        result = row.record.result
        choice = result.choice if isinstance(result, FineTuneResult) else None
        chosen_on = None if run is None else run.chosen_on
        return row.record if (None if choice is None else choice.chosen_on) == chosen_on else None
