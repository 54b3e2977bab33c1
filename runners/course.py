"""The course that trials run: which stage of which trial comes next, who clears a hurdle, when a cohort is over.

Everything it decides is a function of what the ledger holds, so a run that was killed carries on by reading it,
and the order in which workers finish changes nothing.
"""

from collections.abc import Iterator

from runners.designs.arm import BASELINE, Arm
from runners.experiment import Experiment
from runners.groundwork import ATTEMPTS, refusal_of, refuse_another_key
from runners.itinerary import SharedStages, fine_tune_labels, pretrain_labels, trial_stages
from runners.ledger import Ledger
from runners.proposals import next_cohort
from runners.records import ArmRow, Decision, Record, Status, TrialRow
from runners.scoring import scored
from runners.stages.stage import Stage
from runners.store import Outcome, StageStore
from runners.trial import Trial
from runners.work import Failure, Work
from search_space.candidate import Candidate
from search_space.declaration import JsonValue, canonical, canonical_text

ENDED = (Status.FINISHED, Status.DIVERGED)


class Course:
    """An agenda of trials, cohort by cohort."""

    def __init__(self, experiment: Experiment, shared: SharedStages, store: StageStore, ledger: Ledger) -> None:
        self._experiment, self._shared, self._store, self._ledger = experiment, shared, store, ledger
        self._pretraining = pretrain_labels(experiment)
        self._attempts: dict[tuple[str, str], int] = {}
        self.trials: dict[str, Trial] = {}
        self.recorded: list[Record] = []
        """What this run has added to the ledger."""
        self._cohort = -1
        self._remember()
        self._advance()

    @property
    def over(self) -> bool:
        """Whether every trial of every cohort has ended."""
        return all(trial.ended for trial in self.trials.values())

    @property
    def running(self) -> tuple[Work, ...]:
        """What has been started and has not ended."""
        trials = self.trials.items()
        return tuple(Work(name, label, trial.stages[label]) for name, trial in trials for label in trial.running)

    @property
    def remaining(self) -> tuple[Work, ...]:
        """What is still to be done, running stages included, if no hurdle stops it."""
        return tuple(
            Work(name, label, stage)
            for name, trial in self.trials.items()
            for label, stage in trial.stages.items()
            if label not in trial.statuses and not trial.barred
        )

    def next_work(self) -> Work | None:
        """Return the next stage of the earliest trial that has one ready."""
        for name in list(self.trials):
            work = self.next_work_of(name)
            if work is not None:
                return work
        return None

    def trial_names(self) -> tuple[str, ...]:
        """Return the trials declared so far, in order."""
        return tuple(self.trials)

    def ended(self, trial_name: str) -> bool:
        """Whether nothing of a trial will run any more."""
        return self.trials[trial_name].ended

    def waiting(self, trial_name: str) -> list[Work]:
        """Return what is left of a trial in order, none where it has ended or must wait; nothing is started.

        What is in the store is taken on the way.
        """
        trial = self.trials[trial_name]
        first = self.next_work_of(trial_name)
        if first is None:
            return []
        trial.running.discard(first.label)
        missing = (label for label in trial.stages if label not in trial.statuses)
        return [Work(trial_name, label, trial.stages[label]) for label in missing]

    def next_work_of(self, trial_name: str) -> Work | None:
        """Return a trial's next stage that may start now, taking what is in the store on the way."""
        trial = self.trials[trial_name]
        if any(other.cohort < trial.cohort and not other.ended for other in self.trials.values()):
            return None  # a failed trial of an earlier cohort is tried again first: hurdles are set by it
        for label, stage in self._ready(trial):
            known = self._store.outcome(stage.kind, stage.key)
            if known is None:
                trial.running.add(label)
                return Work(trial_name, label, stage)
            self._record(trial, label, known, reused=True)
        self._advance()
        return None

    def finish(self, work: Work, end: Outcome | Failure) -> None:
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
        result = scored(stage, outcome, self._store)
        name, key = trial.row.name, stage.key
        record = Record(0, name, stage.kind, label, key, outcome.status, result, outcome.seconds, reused)
        record = self._ledger.add_record(record)
        self.recorded.append(record)
        self._take(trial, record)
        if label in self._pretraining and outcome.status is Status.FINISHED:
            self._judge(trial, self._pretraining.index(label))

    def _take(self, trial: Trial, record: Record) -> None:
        trial.statuses[record.label] = record.status
        if record.label in self._pretraining and record.status in ENDED:
            loss = record.result.get("held_out_loss")
            trial.losses.append(float(loss) if isinstance(loss, int | float) else None)

    def _judge(self, trial: Trial, level: int) -> None:
        """Write the hurdle's verdict before anything acts on it.

        The baseline is never stopped, so that every candidate has something to be compared with; like the rest of
        its cohort it sets the first hurdle and no later one. A hurdle is set by the first cohort that has reached
        its mark and then never moves.
        """
        hurdle = self._experiment.pretraining.hurdle
        if level >= len(hurdle.token_marks) or trial.row.arm == BASELINE or level in trial.decided:
            return
        verdict = hurdle.judge(trial.losses[level], level, self._setters(trial, level))
        decision = Decision(
            0, trial.row.name, level, verdict.cleared, verdict.value, verdict.threshold, verdict.cohort
        )
        trial.decided[level] = self._ledger.add_decision(decision).cleared

    def _setters(self, trial: Trial, level: int) -> dict[str, tuple[float | None, ...]]:
        """Return the losses of those that set the hurdle: of the first earlier cohort that has reached the mark."""
        by_cohort: dict[int, dict[str, tuple[float | None, ...]]] = {}
        for name, other in self.trials.items():
            losses = tuple(other.losses[:1] if other.row.arm == BASELINE else other.losses)
            if other.row.seed == trial.row.seed and any(loss is not None for loss in losses[level : level + 1]):
                by_cohort.setdefault(other.cohort, {})[name] = losses
        first = min(by_cohort, default=trial.cohort)
        return by_cohort[first] if first < trial.cohort else {}

    def _fail(self, trial: Trial, work: Work, failure: Failure) -> None:
        refusal = refusal_of(failure)
        if refusal is not None:
            raise refusal
        attempt = self._attempts.get((trial.row.name, work.label), 0) + 1
        self._attempts[trial.row.name, work.label] = attempt
        if failure.worker_died and attempt < ATTEMPTS:
            return
        result: dict[str, JsonValue] = {"error": failure.error, "trace": failure.trace, "attempts": attempt}
        name, stage = trial.row.name, work.stage
        record = Record(0, name, stage.kind, work.label, stage.key, Status.FAILED, result, 0.0, False)
        self.recorded.append(self._ledger.add_record(record))
        trial.statuses[work.label] = Status.FAILED

    def _remember(self) -> None:
        """Read what the ledger holds: arms and trials as they were declared, records, decisions."""
        for arm in self._ledger.arms():
            candidate = Candidate.model_validate_json(canonical_text(dict(arm.candidate)))
            self._cohort = max(self._cohort, arm.cohort)
            self._enter(Arm(arm.name, candidate, arm.changes), arm.cohort)
        for record in self._ledger.records():
            if record.trial is not None and record.status in ENDED:
                trial = self.trials[record.trial]
                refuse_another_key(record, trial.stages[record.label], self._ledger)
                self._take(trial, record)
        for decision in self._ledger.decisions():
            self.trials[decision.trial].decided[decision.level] = decision.cleared
        for trial in self.trials.values():  # a run may have been killed between a record and its verdict
            finished = [label for label in trial.marks if trial.statuses.get(label) is Status.FINISHED]
            for level in range(len(finished)):
                self._judge(trial, level)

    def _advance(self) -> None:
        """Declare the next cohort when every trial of the present one has ended."""
        while all(trial.ended for trial in self.trials.values()):
            arms = next_cohort(self._experiment, self._cohort + 1, self._ledger)
            if not arms:
                return
            self._cohort += 1
            with self._ledger.together():  # a cohort that is half declared would never be completed
                for arm in arms:
                    self._ledger.add_arm(self._row(arm))
                    self._enter(arm, self._cohort)

    def _enter(self, arm: Arm, cohort: int) -> None:
        for seed in self._experiment.pretraining.seeds:
            row = TrialRow(f"{arm.name}/{seed}", arm.name, seed)
            self._ledger.add_trial(row)
            stages = trial_stages(self._experiment, self._shared, arm.candidate, seed)
            self.trials[row.name] = Trial(row, cohort, stages, self._pretraining)

    def _row(self, arm: Arm) -> ArmRow:
        candidate, baseline = arm.candidate, self._experiment.baseline
        return ArmRow(
            name=arm.name,
            position=len({trial.row.arm for trial in self.trials.values()}),
            cohort=self._cohort,
            candidate=canonical(candidate),
            changes=dict(arm.changes),
            parameters=candidate.architecture.parameters,
            forward_flops=candidate.architecture.forward_flops(candidate.recipe.sequence_length),
            train_flops=candidate.train_flops(self._experiment.pretraining.tokens, baseline.architecture),
        )


def all_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the stages that a trial goes through when nothing stops it."""
    return (*pretrain_labels(experiment), *fine_tune_labels(experiment))
