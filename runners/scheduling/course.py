"""The course that trials run: which stage of which trial comes next, and when a cohort is over.

Everything it decides is a function of what the ledger holds, so a run that was killed carries on by reading it,
and the order in which workers finish changes nothing.
"""

from collections.abc import Iterator
from math import log

from configuration.arm import BASELINE, Arm
from configuration.experiment import Experiment
from configuration.fine_tuning_runs import fine_tuning_runs
from configuration.stage_label import LONG_SEQUENCE_PHASE
from configuration.tuning_experiment import tuning_view
from ledger.artifacts import ArtifactStore, Outcome
from ledger.database import Ledger
from ledger.records import ArmRow, Record, Status, TrialRow, TrialStatus
from ledger.stage_results import FailedStage
from runners.dag import SharedStages, judged_labels, kind_of, pretrain_labels, trial_stages
from runners.scheduling.apply_hurdles import AUDIT, Judges
from runners.scheduling.groundwork import ATTEMPTS, refusal_of, refuse_another_key
from runners.scheduling.trial import Trial
from runners.scoring import scored
from runners.search.extra_seeds import extra_seeds
from runners.search.next_arms import ArmEntry, next_cohort
from runners.stages.stage import Stage
from runners.work_queue import Failure, StageTask

ENDED = (Status.FINISHED, Status.DIVERGED)


class Course:
    """An agenda of trials, cohort by cohort."""

    def __init__(self, experiment: Experiment, shared: SharedStages, store: ArtifactStore, ledger: Ledger) -> None:
        self._experiment, self._shared, self._store, self._ledger = experiment, shared, store, ledger
        self._teachings = {each.label: each for each in fine_tuning_runs(experiment.fine_tuning)}
        self._judges = Judges(experiment, ledger)
        self._attempts: dict[tuple[str, str], int] = {}
        self.trials: dict[str, Trial] = {}
        self._open: list[Trial] = []
        self._arms: dict[str, Arm] = {}
        self.recorded: list[Record] = []
        """What this run has added to the ledger."""
        self._cohort = -1
        self._remember()
        self._advance()

    @property
    def over(self) -> bool:
        """Whether nothing can go on: all trials have ended, or wait for one that has failed."""
        return not any(self._can_go_on(trial) for trial in self._live())

    @property
    def running(self) -> tuple[StageTask, ...]:
        """What has been started and has not ended."""
        trials = self._live()
        return tuple(StageTask(one.row.name, label, one.stages[label]) for one in trials for label in one.running)

    @property
    def done(self) -> tuple[StageTask, ...]:
        """Every stage of a trial that has ended, in an earlier run, in the stage cache or in this run."""
        return tuple(
            StageTask(name, label, trial.stages[label])
            for name, trial in self.trials.items()
            for label in trial.statuses
        )

    @property
    def standings(self) -> tuple[tuple[TrialRow, TrialStatus], ...]:
        """How each trial that has been declared stands."""
        return tuple((trial.row, trial.status) for trial in self.trials.values())

    @property
    def remaining(self) -> tuple[StageTask, ...]:
        """What is still to be done, running stages included, if no hurdle stops it."""
        return tuple(
            StageTask(trial.row.name, label, stage)
            for trial in self._live()
            for label, stage in trial.stages.items()
            if label not in trial.statuses and not trial.barred
        )

    def next_work(self) -> StageTask | None:
        """Return the next stage of the earliest trial that has one ready."""
        for trial in self._live():
            work = self.next_work_of(trial.row.name)
            if work is not None:
                return work
        return None

    def trial_names(self) -> tuple[str, ...]:
        """Return the trials declared so far, in order."""
        return tuple(self.trials)

    def ended(self, trial_name: str) -> bool:
        """Whether nothing of a trial will run any more."""
        return self.trials[trial_name].ended

    def waiting(self, trial_name: str) -> list[StageTask]:
        """Return what is left of a trial in order, none where it has ended or must wait; nothing is started.

        What is in the store is taken on the way.
        """
        trial = self.trials[trial_name]
        first = self.next_work_of(trial_name)
        if first is None:
            return []
        trial.running.discard(first.label)
        missing = (label for label in trial.stages if label not in trial.statuses)
        return [StageTask(trial_name, label, trial.stages[label]) for label in missing]

    def next_work_of(self, trial_name: str) -> StageTask | None:
        """Return a trial's next stage that may start now, taking what is in the store on the way."""
        trial = self.trials[trial_name]
        if self._held_back(trial):
            return None
        for label, stage in self._ready(trial):
            known = self._store.outcome(stage.kind, stage.key)
            if known is None:
                trial.running.add(label)
                return StageTask(trial_name, label, stage)
            self._record(trial, label, known, reused=True)
        self._advance()
        return None

    def finish(self, work: StageTask, end: Outcome | Failure) -> None:
        """Record how a stage ended and decide what that settles. Raises the Refusal of a stage that refused."""
        assert work.trial is not None
        trial = self.trials[work.trial]
        trial.running.discard(work.label)
        if work.label in trial.statuses:
            return  # a trial that was restarted tells again what it has told
        if isinstance(end, Outcome):
            self._record(trial, work.label, end, reused=False)
        else:
            self._fail(trial, work, end)
        self._advance()

    def _can_go_on(self, trial: Trial) -> bool:
        if trial.running:
            return True
        return next(trial.startable(), None) is not None and not self._held_back(trial)

    def _held_back(self, trial: Trial) -> bool:
        """Whether a trial of an earlier cohort is tried again first: hurdles are set by it."""
        return not trial.audited and any(one.cohort < trial.cohort and not one.audited for one in self._live())

    def _live(self) -> list[Trial]:
        """Return the trials that have not ended, the earliest first."""
        self._open = [trial for trial in self._open if not trial.ended]
        return self._open

    def _ready(self, trial: Trial) -> Iterator[tuple[str, Stage]]:
        """Yield the stages that may start, looking again after each, because taking one makes others ready."""
        tried: set[str] = set()
        while True:
            label = next((label for label in trial.startable() if label not in tried), None)
            if label is None:
                return
            tried.add(label)
            yield label, trial.stages[label]

    def _record(self, trial: Trial, label: str, outcome: Outcome, reused: bool) -> None:
        stage = trial.stages[label]
        result = scored(stage, outcome, self._store, self._teachings.get(label))
        name, kind = trial.row.name, kind_of(label, stage)
        record = Record(0, name, kind, label, stage.key, outcome.status, result, outcome.seconds, reused)
        record = self._ledger.add_record(record)
        self.recorded.append(record)
        self._judges.take(trial, record)
        self._judges.settle()

    def _fail(self, trial: Trial, work: StageTask, failure: Failure) -> None:
        refusal = refusal_of(failure)
        if refusal is not None:
            raise refusal
        attempt = self._attempts.get((trial.row.name, work.label), 0) + 1
        self._attempts[trial.row.name, work.label] = attempt
        if failure.worker_died and attempt < ATTEMPTS:
            return
        result = FailedStage(error=failure.error, trace=failure.trace, attempts=attempt)
        name, stage = trial.row.name, work.stage
        kind = kind_of(work.label, stage)
        record = Record(0, name, kind, work.label, stage.key, Status.FAILED, result, 0.0, False)
        self.recorded.append(self._ledger.add_record(record))
        trial.statuses[work.label] = Status.FAILED

    def _remember(self) -> None:
        """Read what the ledger holds: arms and trials as they were declared, records, decisions."""
        arms = {arm.name: arm for arm in self._ledger.arms()}
        for row in self._ledger.trials():
            self._enter(arms[row.arm], row, arms[row.arm].cohort)
        for record in self._ledger.records():
            if record.trial is not None and record.status in ENDED:
                trial = self.trials[record.trial]
                refuse_another_key(record, trial.stages[record.label], self._ledger)
                self._judges.take(trial, record)
        for decision in self._ledger.decisions():
            self._judges.remember(self.trials[decision.trial], decision)
        if self._ledger.fact(AUDIT) is not None:
            self._audit()
        self._judges.settle()  # a run may have been killed between a record and its verdict

    def _advance(self) -> None:
        """Declare the next cohort when every trial of the present one has ended; after the last comes the audit."""
        while not self._live() and (entries := self._next_entries()):
            with self._ledger.together():  # a cohort that is half declared would never be completed
                for entry in entries:
                    self._declare(entry)
        if not self._live() and not self._failed:
            self._audit()

    def _next_entries(self) -> tuple[ArmEntry, ...]:
        """Return who enters next, none after the last.

        Where that is decided by results, nobody enters while a trial has failed: the next run tries it again, and
        what it then brings belongs to what is decided.
        """
        by_results = self._experiment.search is not None or self._experiment.tune is not None
        if not (by_results and self._failed) and self._ledger.fact(AUDIT) is None:
            entries = next_cohort(self._experiment, self._cohort + 1, self._ledger)
            if entries:
                self._cohort += 1
                return entries
        if self._failed or not self.trials:
            return ()
        added = extra_seeds(self._experiment, self._ledger, self._arms)  # that what is undecided asks for
        return tuple(ArmEntry(arm, added[name], repeats=True) for name, arm in self._arms.items() if name in added)

    @property
    def _failed(self) -> bool:
        return any(trial.failed for trial in self.trials.values())

    def _audit(self) -> None:
        for trial in self._judges.audit():
            trial.audited = True
            self._open = [*(one for one in self._open if one is not trial), trial]

    def _declare(self, entry: ArmEntry) -> None:
        """Write down an arm's trials, and the arm itself where it is new."""
        if not entry.repeats:
            self._ledger.add_arm(self._row(entry.arm))
        for seed in entry.seeds:
            name, cohort = f"{entry.arm.name}/{seed}", self._cohort if entry.repeats else None
            row = TrialRow(name, entry.arm.name, seed, cohort)
            self._ledger.add_trial(row)
            self._enter(entry.arm, row, self._cohort)

    def _enter(self, arm: Arm, row: TrialRow, arm_cohort: int) -> None:
        cohort = arm_cohort if row.cohort is None else row.cohort
        self._cohort = max(self._cohort, cohort)
        self._arms[arm.name] = arm
        architecture, length = arm.candidate.architecture, arm.candidate.recipe.sequence_length
        asked = self._asked(arm)
        trial = Trial(
            row,
            cohort,
            trial_stages(asked, self._shared, arm.candidate, row.seed),
            pretrain_labels(asked),
            judged_labels(asked),
            gates=(LONG_SEQUENCE_PHASE,),
            exempt=arm.name == BASELINE,
            features=(log(architecture.parameters), log(architecture.forward_flops(length))),
        )
        self.trials[row.name] = trial
        self._open.append(trial)
        self._judges.enter(trial)

    def _asked(self, arm: Arm) -> Experiment:
        """Return the experiment as the arm's trials see it."""
        return self._experiment if arm.tuning_trial_of is None else tuning_view(self._experiment)

    def _row(self, arm: Arm) -> ArmRow:
        candidate, baseline = arm.candidate, self._experiment.baseline
        return ArmRow(
            **vars(arm),
            position=len({trial.row.arm for trial in self.trials.values()}),
            cohort=self._cohort,
            parameters=candidate.architecture.parameters,
            forward_flops=candidate.architecture.forward_flops(candidate.recipe.sequence_length),
            train_flops=candidate.train_flops(self._asked(arm).pretraining.tokens, baseline.architecture),
            after_record=self._ledger.last_of_trials(),
        )
