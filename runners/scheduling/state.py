"""The state of a run: a fold over the rows of its ledger, so that rows at once and one by one come to the same.

The order in which stages of different trials end changes nothing; nothing is read or written here but memory.
"""

from collections.abc import Iterable, Iterator
from itertools import dropwhile
from math import log
from pathlib import Path

from configuration.arm import BASELINE
from configuration.experiment import Experiment
from configuration.loading import AnyExperiment
from configuration.seeds import first_seeds
from configuration.stage_label import LONG_SEQUENCE_PHASE
from configuration.tuning_experiment import tuning_view
from foundation.errors import ConflictError
from ledger.records import ArmRow, Decision, Record, Status, TrialRow
from runners.dag import SharedStages, judged_labels, pretrain_labels, trial_stages
from runners.latency_stages import LatencyStages
from runners.scheduling.decisions import AUDIT, hurdle_decisions, verdict_of
from runners.scheduling.rows import Fact, Row, Rows
from runners.scheduling.trial import Trial, TrialPlan
from runners.stages.stage import Stage
from runners.work_queue import StageTask


class RunState:
    """What the rows taken so far make of every stage and every trial.

    Records of shared stages are those whose results are still stored. A failed stage is tried again by the next run:
    failures up to the record `resumed_after` were there when this run began, and are not counted.
    """

    def __init__(
        self, experiment: AnyExperiment, shared: SharedStages | LatencyStages, path: Path, resumed_after: int = 0
    ) -> None:
        self._declared = experiment
        self.rows = Rows(path)
        self.trials: dict[str, Trial] = {}
        """In the order in which they were declared."""
        self.cohort = -1
        """The latest cohort that has entered."""
        self.last_trial_record = 0
        """The sequence number of the last record of a trial, 0 before the first."""
        self._shared, self._shared_stages = shared, shared.named()
        self.shared_records: dict[str, Record] = {}
        """Of the shared stages that have ended, by label."""
        self._resumed_after = resumed_after
        self._arms: dict[str, ArmRow] = {}
        self._audited: tuple[str, ...] = ()
        seeds = first_seeds(self.experiment.pretraining.seeds) if self.has_trials else ()
        self._replicates: dict[int, list[str]] = {seed: [] for seed in seeds}
        self._decidable: dict[int, tuple[Decision, ...]] = {}
        """What was found for replicates of which no row has been taken since."""

    @property
    def has_trials(self) -> bool:
        """Whether trials follow the shared stages; a latency experiment has shared stages alone."""
        return isinstance(self._declared, Experiment)

    @property
    def experiment(self) -> Experiment:
        """The experiment that the trials belong to; only to be asked for where there are trials."""
        assert isinstance(self._declared, Experiment)
        return self._declared

    def take_all(self, rows: Iterable[Row]) -> None:
        """Take rows in an order in which each comes after those that it names."""
        for row in rows:
            self.take(row)

    def take(self, row: Row) -> None:
        """Take the next row. Raises ConflictError for a result of other data, code or libraries than today's."""
        self.rows.add(row)
        match row:
            case ArmRow():
                self._arms[row.name] = row
            case TrialRow():
                self._enter(row)
            case Record():
                self._end(row)
            case Decision():
                verdict = verdict_of(row, self._probed)
                self._replace(self.trials[row.trial].with_verdict(verdict))
            case Fact(name, value) if name == AUDIT:
                assert isinstance(value, list)
                self._audited = tuple(map(str, value))
                for one in self._audited:
                    self._replace(self.trials[one].as_audited())

    @property
    def _probed(self) -> bool:
        return self.experiment.pretraining.hurdle.probe is not None

    def _enter(self, row: TrialRow) -> None:
        arm = self._arms[row.arm]
        cohort = arm.cohort if row.cohort is None else row.cohort
        self.cohort = max(self.cohort, cohort)
        assert isinstance(self._shared, SharedStages)
        view = self.experiment if arm.tuning_trial_of is None else tuning_view(self.experiment)
        plan = TrialPlan(
            row,
            cohort,
            trial_stages(view, self._shared, arm.candidate, row.seed),
            pretrain_labels(view),
            judged_labels(view),
            gates=(LONG_SEQUENCE_PHASE,),
            probed=self._probed,
            exempt=arm.name == BASELINE,
            features=(log(arm.parameters), log(arm.forward_flops)),
        )
        self._replicates[self._replicate(plan)].append(row.name)
        self._replace(Trial(plan))

    def _replicate(self, plan: TrialPlan) -> int:
        """Return the pretraining seed whose trials a trial is judged with; a repeat is judged with the first."""
        return plan.row.seed if plan.row.seed in self._replicates else next(iter(self._replicates))

    def _end(self, record: Record) -> None:
        if record.trial is None:
            self._refuse_another_key(record, self._shared_stages[record.label])
            self.shared_records[record.label] = record
            return
        self.last_trial_record = max(self.last_trial_record, record.sequence)
        if record.status is Status.FAILED and record.sequence <= self._resumed_after:
            return
        trial = self.trials[record.trial]
        self._refuse_another_key(record, trial.plan.stages[record.label])
        self._replace(trial.with_record(record))

    def refuse_other_keys(self, shared_records: Iterable[Record]) -> None:
        """Raise ConflictError where a shared result was made from other data, code or libraries than today's."""
        for record in shared_records:
            self._refuse_another_key(record, self._shared_stages[record.label])

    def _refuse_another_key(self, record: Record, stage: Stage) -> None:
        if record.key != stage.key:
            place = " ".join(filter(None, [record.trial, record.label]))
            message = "was made from other data, code or library versions than there are now; the two are never mixed"
            raise ConflictError([f"{self.rows.path}: {place} {message}.", "Did you mean another --out folder?"])

    def _replace(self, trial: Trial) -> None:
        self.trials[trial.name] = trial
        self._decidable.pop(self._replicate(trial.plan), None)

    @property
    def shared_tasks(self) -> tuple[StageTask, ...]:
        """Every stage that all trials share, the earliest first."""
        return tuple(StageTask(None, label, stage) for label, stage in self._shared_stages.items())

    @property
    def shared_missing(self) -> tuple[StageTask, ...]:
        """The shared stages that have not ended."""
        return tuple(task for task in self.shared_tasks if task.label not in self.shared_records)

    @property
    def shared_ready(self) -> tuple[StageTask, ...]:
        """The shared stages that have not ended and whose inputs are all there."""
        done = {self._shared_stages[label].key for label in self.shared_records}
        return tuple(
            task for task in self.shared_missing if all(one.key in done for one in task.stage.inputs.values())
        )

    @property
    def live(self) -> tuple[Trial, ...]:
        """The trials that have not ended, the earliest first and those that the audit trains on last."""
        return tuple(trial for trial in self._in_order() if not trial.ended)

    def names_from(self, name: str) -> frozenset[str]:
        """Return the names of a trial and of those behind it."""
        return frozenset(trial.name for trial in dropwhile(lambda trial: trial.name != name, self._in_order()))

    def _in_order(self) -> Iterator[Trial]:
        yield from (trial for trial in self.trials.values() if not trial.audited)
        yield from (self.trials[name] for name in self._audited)

    @property
    def failed(self) -> bool:
        """Whether a trial has failed in this run."""
        return any(trial.failed for trial in self.trials.values())

    def decidable(self) -> tuple[Decision, ...]:
        """Return the hurdle decisions that can be taken now, those of the first replicate that has some."""
        for seed, names in self._replicates.items():
            if seed not in self._decidable:
                trials = [self.trials[name] for name in names]
                self._decidable[seed] = hurdle_decisions(self.experiment.pretraining, trials)
            if self._decidable[seed]:
                return self._decidable[seed]
        return ()
