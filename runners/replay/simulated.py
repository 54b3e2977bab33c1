"""A tabulated space, and a search on it: the scheduler of `run`, with losses from a table in place of stages. Pure.

One training at a time, or `at_once` of a policy, which end in the order of their costs. With one at a time the search
is that of `run` with the same losses; with more, trainings in `run` end in the order of the machine.
"""

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from runners.dag import SharedStages
from runners.replay.curves.recorded import Numbers, RecordedCurves
from runners.scheduler import ProposalRequest, Step, after_last_cohort, next_step, proposed_step
from runners.scheduling.rows import Fact, Row
from runners.scheduling.state import RunState
from runners.search.encoding import point_of
from runners.stage_labels import all_labels, pretrain_labels
from runners.stages.stage import Stage, StageDeclaration
from runners.work_queue import StageTask
from search_space.candidate import Candidate
from steeplechase.analysis.search_trace import SearchTrace
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.errors import ConfigurationError, DataError
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.phase_plans import FINALISTS, WINNER
from steeplechase.ledger.records import ArmRow, Record, Status
from steeplechase.ledger.search_trace import recorded_trace
from steeplechase.ledger.stage_results import DivergedPretraining, PretrainResult
from steeplechase.ledger.trial_history import TrialHistory, histories_of

BASELINE_KEY = "baseline"
"""Of the first line of the plain format: the declared candidate of the search that filled the table."""


@dataclass(frozen=True)
class Table:
    """The curves of a space; a candidate's configuration is its point."""

    curves: RecordedCurves

    def losses(self, experiment: Experiment, candidate: Candidate, tokens: Sequence[int]) -> Numbers:
        """Return a candidate's losses at some tokens [points]. Raises DataError if the table lacks it."""
        assert experiment.search is not None
        point = point_of(experiment.search, candidate)
        row = self._rows.get(canonical_text(dict(point)))
        if row is None:
            shown = ", ".join(f"{path}: {label}" for path, label in point.items())
            raise DataError(f"{self.curves.name}: no curve of {shown}; the table is of another space or incomplete")
        return self.curves.values[row, [self._columns[count] for count in tokens]]

    def mistakes(self, experiment: Experiment) -> list[str]:
        """Return why the table cannot be searched: another baseline, or rungs at which it has no losses."""
        search, declared = experiment.search, self.curves.about.get(BASELINE_KEY)
        assert search is not None
        found = []
        if declared is not None and declared != canonical(experiment.baseline):
            found.append(
                f"the baseline is not that of the table {self.curves.name}, whose losses are of other models"
            )
        wanted = (*experiment.pretraining.rung_tokens, experiment.pretraining.tokens)
        lacking = [count for count in wanted if count not in self._columns]
        if lacking:
            steps = ", ".join(f"{step:g}" for step in self.curves.steps)
            found.append(f"no losses at {', '.join(map(str, lacking))} tokens; the table has {steps}")
        return found

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        return {canonical_text(dict(config)): row for row, config in enumerate(self.curves.configs)}

    @cached_property
    def _columns(self) -> Mapping[int, int]:
        return {round(step): column for column, step in enumerate(self.curves.steps)}


def with_points(
    experiment: Experiment, curves: RecordedCurves, candidates: Mapping[str, Candidate]
) -> RecordedCurves:
    """Return the curves of a results folder with points as configurations; `candidates` are its arms by name."""
    assert experiment.search is not None
    points = [{**point_of(experiment.search, candidates[name])} for name in curves.candidates]
    about = {"experiment": experiment.experiment, "steps": "tokens", "values": "held_out_loss"}
    return replace(curves, configs=tuple(points), about={**about, BASELINE_KEY: canonical(experiment.baseline)})


TABULATED = ("held_out_loss", "parameters", "forward_flops", "train_flops")
"""Objectives that a table of losses has."""


class _SimulatedStage(StageDeclaration):
    stage: ClassVar[str] = PRETRAIN
    code_version: ClassVar[int] = 0


_STAGE = Stage(_SimulatedStage())


@dataclass(frozen=True)
class SimulatedStages(SharedStages):
    """Stages of trials that are never computed: they have a label alone, and read no data."""

    labels: Mapping[str, None] = field(default_factory=dict)
    """Labels that trials have beside those of every trial."""
    key: ClassVar[str] = _STAGE.key
    """Of every stage."""

    def of_trial(self, experiment: Experiment, candidate: Candidate, seed: int) -> dict[str, Stage]:
        """Return a stage for every label."""
        return dict.fromkeys((*all_labels(experiment), *self.labels), _STAGE)


@dataclass(frozen=True)
class Simulated:
    """A simulated search."""

    arms: tuple[ArmRow, ...]
    histories: tuple[TrialHistory, ...]
    duplicates: int | None
    """Children that equal a candidate of before, which train nothing; None without a policy."""


def simulated(experiment: Experiment, table: Table) -> Simulated:
    """Return the search of an experiment with the losses of a table.

    Raises ConfigurationError for a search of another table, or of what it lacks, and DataError for a candidate that
    the table lacks.
    """
    search = experiment.search
    assert search is not None
    if mistakes := [*table.mistakes(experiment), *_mistakes(experiment)]:
        raise ConfigurationError(mistakes)
    state = RunState(experiment, SimulatedStages({}), Path(table.curves.name))
    training: list[tuple[float, int, StageTask]] = []
    now, started, results = 0.0, set[tuple[str | None, str]](), _Results(experiment, table)
    entered: list[ArmRow] = []
    while True:
        for task in settled(state, entered=entered).ready:
            if len(training) < search.at_once and task.task_id not in started:
                started.add(task.task_id)
                heapq.heappush(training, (now + results.cost(task), len(started), task))
        if not training:
            break
        now, _, ended = heapq.heappop(training)
        state.apply(results.record(state, ended))
    arms = tuple(arm for arm in entered if arm.final_of is None)  # finalists are no part of the search
    names = {arm.name for arm in arms}
    found = (each for each in histories_of(state.rows, pretrain_labels(experiment)) if each.trial.arm in names)
    return Simulated(arms, tuple(found), None if state.race is None else state.race.duplicates)


def settled(state: RunState, recorded: LedgerRows | None = None, entered: list[ArmRow] | None = None) -> Step:
    """Apply the rows of steps until one has none; return that step, and add the arms that entered to `entered`.

    What a sampler proposed may be `recorded`.
    """
    while True:
        step = next_step(state)
        if step.requested_fact is not None and recorded is not None:
            step = _recorded_fact(step.requested_fact, recorded)
        chosen = step.facts.keys() & {FINALISTS, WINNER}  # by references outside trials, which no curve has
        if chosen and recorded is not None:
            step = _recorded_fact(chosen.pop(), recorded)
        if (request := step.requested_proposals) is not None:
            step = proposed_step(state, request) if recorded is None else _recorded_step(state, request, recorded)
        rows = [*_rows(step)]
        if not rows:
            return step
        state.apply_all(rows)
        if entered is not None:
            entered.extend(step.arms)


def _recorded_fact(name: str, recorded: LedgerRows) -> Step:
    """Return the step that writes a recorded fact; an empty one before it was written."""
    value = recorded.fact(name)
    return Step() if value is None else Step(facts={name: value})


def _recorded_step(state: RunState, request: ProposalRequest, recorded: LedgerRows) -> Step:
    cohorts = {arm.name: arm.cohort for arm in recorded.arms() if arm.final_of is None}
    arms = tuple(arm for arm in recorded.arms() if cohorts.get(arm.name) == request.cohort)
    trials = tuple(
        trial
        for trial in recorded.trials()
        if trial.arm in cohorts and (cohorts[trial.arm] if trial.cohort is None else trial.cohort) == request.cohort
    )
    return Step(arms=arms, trials=trials) if trials else after_last_cohort(state)


def simulated_trace(experiment: Experiment, table: Table) -> SearchTrace:
    """Return the trace of a search at the seed of its design. Raises as `simulated` does."""
    found, tokens = simulated(experiment, table), (experiment.pretraining.tokens,)
    trace = recorded_trace(found, experiment, found.duplicates)
    finals = {arm.identity: float(table.losses(experiment, arm.candidate, tokens)[0]) for arm in found.arms}
    measured = tuple(replace(training, seconds=None) for training in trace.trainings)
    return replace(trace, trainings=measured).choosing(finals)


def _mistakes(experiment: Experiment) -> Iterator[str]:
    search = experiment.search
    assert search is not None
    for name in search.objectives:
        if name not in TABULATED:
            yield f"design.objectives: a table has no {name}; it has {', '.join(TABULATED)}"
    if experiment.pretraining.hurdle.rung_probe is not None:
        yield "pretraining.hurdle.rung_probe: a table has losses alone"
    if search.warm_start:
        yield "design.warm_start: a replay starts from nothing"
    if experiment.fine_tuning.tasks or experiment.measure.declared:
        yield "fine_tuning, measure: a table has losses alone"


def _rows(step: Step) -> Iterator[Row]:
    yield from (Fact(name, value) for name, value in step.facts.items())
    yield from step.arms
    yield from step.trials
    yield from step.decisions


class _Results:
    """Records of the trainings of trials, with the losses of a table."""

    def __init__(self, experiment: Experiment, table: Table) -> None:
        self._experiment, self._table, self._count = experiment, table, 0
        tokens = experiment.pretraining.stage_ends
        self._tokens = dict(zip(pretrain_labels(experiment), tokens, strict=True))
        self._before = dict(zip(pretrain_labels(experiment), (0, *tokens), strict=False))

    def cost(self, task: StageTask) -> float:
        """Return the tokens of a training."""
        return float(self._tokens[task.label] - self._before[task.label])

    def record(self, state: RunState, task: StageTask) -> Record:
        """Return the record of a training."""
        assert task.trial is not None
        candidate = state.candidate_of(task.trial)
        tokens, self._count = self._tokens[task.label], self._count + 1
        (loss,) = self._table.losses(self._experiment, candidate, (tokens,)).tolist()
        if math.isfinite(loss):
            result: PretrainResult | DivergedPretraining = PretrainResult(tokens=tokens, held_out_loss=loss)
            status = Status.FINISHED
        else:
            result, status = DivergedPretraining(tokens=tokens, loss=str(loss)), Status.DIVERGED
        return Record(self._count, task.trial, PRETRAIN, task.label, _STAGE.key, status, result, 0.0, False)
