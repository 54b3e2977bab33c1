"""The state of a run: a fold over the rows of its ledger, the same for rows in one batch and one by one.

It does not depend on the order in which stages of different trials end. Pure: no files are read or written.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from itertools import dropwhile
from pathlib import Path

from runners.dag import SharedStages
from runners.part import WHOLE
from runners.scheduling.cohort_search import CohortSearch
from runners.scheduling.decisions import AUDIT, as_row, hurdle_decision_of
from runners.scheduling.race_of_trials import RaceOfTrials
from runners.scheduling.rows import Fact, Row, Rows
from runners.scheduling.trial import Trial, TrialPlan
from runners.scheduling.trial_stages import TrialStages
from runners.search.encoding import KnownCandidates
from runners.stages.stage import Stage
from runners.work_queue import StageTask, TaskId
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.foundation.errors import ConflictError
from steeplechase.ledger.records import ArmRow, ArmWithoutCandidate, Decision, Record, Status, TrialRow
from steeplechase.ledger.task_references import PROBE_REFERENCE, ProbeReference, references_of


class RunState:
    """State of every stage and trial after the rows applied so far.

    Records of shared stages are those whose results are still stored. A failed stage is retried by the next run:
    failures up to the record `resumed_after` are of earlier runs and are ignored.
    """

    def __init__(self, experiment: Experiment, shared: SharedStages, path: Path, resumed_after: int = 0) -> None:
        self.experiment = experiment
        self.part = WHOLE
        """The part of the trials that is run now."""
        self.rows = Rows(path)
        self.rows.add(Fact("document", experiment.model_dump(mode="json")))
        self.trials: dict[str, Trial] = {}
        """By name, in the order in which they were declared."""
        self._order: list[tuple[int, int, int, str]] = []
        """Cohort, place of the seed, place in the declaration, and name, in the order in which they run."""
        self._open: list[tuple[int, int, int, str]] = []
        """Those of them that have not ended."""
        self._places: dict[str, tuple[int, int, int, str]] = {}
        """The entry of each trial, by name."""
        self._seeds: dict[int, int] = {}
        """The place of each seed among those of the trials."""
        self.cohort = -1
        """The latest cohort that has entered."""
        self.last_trial_record = 0
        """The sequence number of the last record of a trial, 0 before the first."""
        self._shared, self.shared_stages = shared, shared.by_label
        self.shared_records: dict[str, Record] = {}
        """Records of the finished shared stages, by label."""
        self._resumed_after = resumed_after
        self._stages = TrialStages(experiment, shared)
        self._ready: dict[str, tuple[StageTask, ...]] = {}
        """Of each trial that has not ended: the stages that may run now."""
        self._audited: tuple[str, ...] = ()
        self._replicates = first_seeds(experiment.pretraining.seeds)
        self.search = CohortSearch(experiment.pretraining.hurdle, self._replicates)
        """The trials as the hurdle sees them."""
        self._listed = len(experiment.arms) * len(self._replicates) if experiment.may_grow else 0
        """Trials of the file that have no row yet."""
        search = experiment.search
        found = None if search is None else KnownCandidates(search, experiment.baseline, experiment.constraints)
        self.known = found
        """Encodings of the candidates of a search, which its sampler needs at every cohort."""
        self._race: RaceOfTrials | None = None
        self._results: list[Record] = []
        """Records of trials that the race has not seen, in the order of their arrival."""

    @property
    def lacks_listed(self) -> bool:
        """Whether a study that may grow has arms or seeds in its file that have not entered."""
        return self._listed > 0

    def stages_of_trials(self) -> int:
        """Return the number of stages, in the part, of the trials that have entered and that the file names; slow."""
        entered = {(trial.plan.row.arm, trial.plan.row.seed) for trial in self.trials.values()}
        of_trials: list[Iterable[str]] = [
            trial.plan.labels for trial in self.trials.values() if self.runs(trial.plan.row)
        ]
        of_trials += [
            self._shared.of_trial(self.experiment, arm.candidate, seed)
            for arm in self.experiment.arms
            for seed in first_seeds(self.experiment.pretraining.seeds)
            if (arm.name, seed) not in entered and self.part.has_trial(arm.name, seed)
        ]
        return sum(self.part.has_stage(label) for labels in of_trials for label in labels)

    def runs(self, row: TrialRow) -> bool:
        """Return whether a trial is in the part that is run now."""
        return self.part.has_trial(row.arm, row.seed)

    def runs_stage(self, row: TrialRow, label: str) -> bool:
        """Return whether a stage of a trial is in that part."""
        return self.runs(row) and self.part.has_stage(label)

    def apply_all(self, rows: Iterable[Row]) -> None:
        """Apply rows, each after the rows that it refers to."""
        for row in rows:
            self.apply(row)

    def apply(self, row: Row) -> None:
        """Apply one row. Raises ConflictError for a result of other data, code or library versions."""
        match row, self.rows.add(row):
            case ArmRow() as arm, ArmWithoutCandidate() as known:
                self._stages.add_arm(known, arm.candidate)
            case _, TrialRow() as declared:
                self._add_trial(declared)
            case _, Record() as record:
                self._add_record(record)
            case Decision() as taken, _:
                trial = self.trials[taken.trial]
                decision, replicate = hurdle_decision_of(taken, self._probed), self._replicate_of(trial.plan)
                self.search.decided(trial.plan.cohort, taken.level, decision, replicate)
                self._replace(trial.with_decision(taken.cleared))
            case _, Fact(fact, value) if fact == AUDIT:
                assert isinstance(value, list)
                self._audited = tuple(map(str, value))
                for name in self._audited:
                    self._replace(self.trials[name].as_audited())
            case _, Fact(fact, value) if fact == PROBE_REFERENCE:
                score = ProbeReference.of_record(value).score
                self.search.require_below(-math.inf if score is None else -score)

    @property
    def _probed(self) -> bool:
        return self.experiment.pretraining.hurdle.larger_is_better

    def _add_trial(self, row: TrialRow) -> None:
        plan = self._stages.plan(row)
        cohort = plan.cohort
        if not plan.final:  # a search may take more candidates later
            self.cohort = max(self.cohort, cohort)
        self._listed -= row.seed in self._replicates
        seed = 0 if self.has_policy else self._seeds.setdefault(row.seed, len(self._seeds))
        self._places[row.name] = (cohort, seed, len(self._order), row.name)
        insort(self._order, self._places[row.name])
        self._replace(Trial(plan))

    def stages_of(self, trial: str) -> Mapping[str, Stage]:
        """Return the stages of a trial by label; those of a search's trial that has ended are built again."""
        return self._stages.of(self.trials[trial].plan.row)

    def task_of(self, name: TaskId) -> StageTask:
        """Return a declared stage by its trial, None of a shared one, and its label."""
        trial, label = name
        return StageTask(trial, label, (self.shared_stages if trial is None else self.stages_of(trial))[label])

    def pending_of(self, trial: Trial) -> tuple[StageTask, ...]:
        """Return the stages of a trial in the part without a record, in order, whether or not they will run."""
        row = trial.plan.row
        return self._stages.tasks(row, (label for label in trial.pending if self.runs_stage(row, label)))

    def _replicate_of(self, plan: TrialPlan) -> int:
        """Return the pretraining seed whose trials a trial is compared with; for a repeat, the first seed."""
        return plan.row.seed if plan.row.seed in self._replicates else self._replicates[0]

    def _add_record(self, record: Record) -> None:
        if record.trial is None:
            self._refuse_another_key(record, self.shared_stages[record.label])
            self.shared_records[record.label] = record
            return
        self.last_trial_record = max(self.last_trial_record, record.sequence)
        if record.status is Status.FAILED and record.sequence <= self._resumed_after:
            return
        trial = self.trials[record.trial]
        self._refuse_another_key(record, self.stages_of(trial.name)[record.label])
        self._replace(trial.with_record(record))
        if self.has_policy:
            self._results.append(record)

    def refuse_other_keys(self, shared_records: Iterable[Record]) -> None:
        """Raise ConflictError if a shared result is of other data, code or library versions."""
        for record in shared_records:
            self._refuse_another_key(record, self.shared_stages[record.label])

    def _refuse_another_key(self, record: Record, stage: Stage) -> None:
        if record.key != stage.key:
            name = " ".join(filter(None, [record.trial, record.label]))
            message = "was made from other data, code or library versions than the current ones; they cannot be mixed"
            raise ConflictError([f"{self.rows.path}: {name} {message}.", "Did you mean another --out folder?"])

    def _replace(self, trial: Trial) -> None:
        self.trials[trial.name] = trial
        place = self._places[trial.name]
        position = bisect_left(self._open, place)
        entered = self._open[position : position + 1] == [place]
        ended = trial.ended
        if ended and entered:
            del self._open[position]
        elif not ended and not entered:
            self._open.insert(position, place)
        if ended:
            self._stages.release(trial.plan.row)
            self._ready.pop(trial.name, None)
        else:
            self._stages.keep(trial.plan.row)
            self._ready[trial.name] = self._stages.tasks(trial.plan.row, trial.ready)
        if not trial.plan.final:
            self.search.observe(trial.view, ended or trial.audited, self._replicate_of(trial.plan))

    @property
    def shared_tasks(self) -> tuple[StageTask, ...]:
        """The shared stages, in topological order."""
        return tuple(StageTask(None, label, stage) for label, stage in self.shared_stages.items())

    @property
    def shared_pending(self) -> tuple[StageTask, ...]:
        """The shared stages without a result."""
        return tuple(task for task in self.shared_tasks if task.label not in self.shared_records)

    @property
    def shared_ready(self) -> tuple[StageTask, ...]:
        """The shared stages without a result whose inputs are finished."""
        done = {self.shared_stages[label].key for label in self.shared_records}
        return tuple(
            task for task in self.shared_pending if all(stage.key in done for stage in task.stage.inputs.values())
        )

    @property
    def live(self) -> tuple[Trial, ...]:
        """The trials that have not ended, audited ones last.

        By cohort, seed and declaration, so that an unfinished table has its first seeds in every arm; trials of a
        policy, which are declared in the order of its actions, by declaration.
        """
        trials = [self.trials[name] for *_, name in self._open]
        audited = (self.trials[name] for name in self._audited)
        return (
            *(trial for trial in trials if not trial.audited),
            *(trial for trial in audited if not trial.ended),
        )

    def ready_of(self, trial: Trial) -> Iterator[StageTask]:
        """Yield the stages of a trial that may run now and are in the part."""
        row = trial.plan.row
        yield from (task for task in self._ready.get(trial.name, ()) if self.runs_stage(row, task.label))

    def names_from(self, name: str) -> frozenset[str]:
        """Return the names of a trial and of all later ones."""
        return frozenset(trial.name for trial in dropwhile(lambda trial: trial.name != name, self._in_order()))

    def _in_order(self) -> Iterator[Trial]:
        trials = (self.trials[name] for *_, name in self._order)
        yield from (trial for trial in trials if not trial.audited)
        yield from (self.trials[name] for name in self._audited)

    def candidate_of(self, trial: str) -> Candidate:
        """Return the candidate of a trial."""
        return self._stages.candidate(self.trials[trial].plan.row.arm)

    @property
    def failed(self) -> bool:
        """Whether a trial has failed in this run."""
        return any(trial.failed for trial in self.trials.values())

    @property
    def race(self) -> RaceOfTrials | None:
        """The search of a policy, after all results so far; None without a policy."""
        if not self.has_policy:
            return None
        if self._race is None:
            tuning = self.experiment.fine_tuning
            references = references_of([*self.shared_records.values()], tuning.primary_metric, tuning.tasks)
            self._race = RaceOfTrials(self.experiment, references)
        for record in self._results:
            self._race.add(record)
        self._results.clear()
        return self._race

    @property
    def has_policy(self) -> bool:
        """Whether a policy, and not cohorts, decides which trials enter."""
        return self.experiment.search is not None and self.experiment.search.policy is not None

    def decidable(self) -> tuple[Decision, ...]:
        """Return the hurdle decisions that can be taken now, of the first replicate with any."""
        found = self.search.decisions()
        if not found:
            return ()
        declared = sorted(found, key=lambda name: self._places[name][2])
        return tuple(as_row(self.trials[name], found[name], self._probed) for name in declared)
