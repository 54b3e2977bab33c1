"""The scheduler: from the rows of a ledger to what is decided, what enters and what may run now. Pure.

A step that holds rows is written down before anything else; then the next step is asked for. Resuming a run is asking
for the next step of what its ledger holds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from configuration.arm import Arm
from configuration.experiment import Experiment
from configuration.seeds import first_seeds
from configuration.tuning_experiment import tuning_view
from foundation.schema import JsonValue
from ledger.contamination import refuse_contamination
from ledger.database import LedgerRows
from ledger.records import ArmRow, Decision, TrialRow
from ledger.tuning_plan import CHOICES, TUNING
from runners.dag import SharedStages
from runners.scheduling.decisions import AUDIT, audited
from runners.scheduling.rows import rows_of
from runners.scheduling.state import RunState
from runners.search.extra_seeds import extra_seeds
from runners.search.next_arms import ArmEntry, count_of_proposals, listed_entries
from runners.search.tuning_phase import choices, own_arms, tried_arms
from runners.search.warm_start import WARM_START
from runners.work_queue import StageTask


@dataclass(frozen=True)
class Proposals:
    """A request to a search's sampler: so many candidates for a cohort."""

    cohort: int
    count: int
    otherwise: "Step"
    """What follows where the space is exhausted and the sampler has none."""


@dataclass(frozen=True)
class Step:
    """What follows from the rows so far: rows to write, or a request, or else what may run; without any, the end."""

    decisions: tuple[Decision, ...] = ()
    """Of hurdles; written together."""
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    arms: tuple[ArmRow, ...] = ()
    """Written together with the trials that enter."""
    trials: tuple[TrialRow, ...] = ()
    fact_wanted: Literal["tuning", "warm_start"] | None = None
    """A fact that only a sampler or other ledgers can give."""
    proposals_wanted: Proposals | None = None
    ready: tuple[StageTask, ...] = ()
    """The stages that may run now, the first to be started first; those that run already are among them."""


OVER = Step()


def fold(experiment: Experiment, shared: SharedStages, rows: LedgerRows, resumed_after: int = 0) -> RunState:
    """Return the state that all rows of a ledger lead to. Raises ConflictError for results of other data or code."""
    state = RunState(experiment, shared, rows.path, resumed_after)
    state.take_all(rows_of(rows))
    return state


def next_step(state: RunState) -> Step:
    """Return what follows from the rows that the state has taken.

    Shared stages come first. Raises DataError where too much of a dev set is in the pretraining text.
    """
    if state.shared_missing:
        return Step(ready=state.shared_ready)
    if not state.has_trials:
        return OVER
    refuse_contamination(state.experiment, state.shared_records.values())
    if decisions := state.decidable():
        return Step(decisions=decisions)
    if live := state.live:
        judged = [trial.plan.cohort for trial in live if not trial.audited]
        first = min(judged, default=0)  # a trial that is tried again sets the hurdles of later cohorts
        may_run = (trial for trial in live if trial.audited or trial.plan.cohort == first)
        return Step(ready=tuple(task for trial in may_run for task in trial.ready))
    return _next_cohort(state)


def _next_cohort(state: RunState) -> Step:
    """Return who enters when every trial has ended, then the audit.

    Where that is decided by results, nobody enters while a trial has failed: the next run tries it again, and what it
    then brings belongs to what is decided.
    """
    experiment = state.experiment
    if state.failed and (experiment.search is not None or experiment.tune is not None):
        return OVER
    if state.rows.fact(AUDIT) is not None:
        return _after_last_cohort(state)
    if experiment.search is not None:
        return _searched(state)
    if experiment.tune is not None:
        return _tuned(state)
    return entering(state, listed_entries(experiment, state.rows)) or _after_last_cohort(state)


def _searched(state: RunState) -> Step:
    experiment, cohort = state.experiment, state.cohort + 1
    assert experiment.search is not None
    otherwise = _after_last_cohort(state)
    count = count_of_proposals(experiment, cohort, state.rows)
    if not count:
        listed = listed_entries(experiment, state.rows) if cohort == 0 else ()
        return entering(state, listed) or otherwise
    if experiment.search.warm_start and state.rows.fact(WARM_START) is None:
        return Step(fact_wanted="warm_start")
    return Step(proposals_wanted=Proposals(cohort, count, otherwise))


def _tuned(state: RunState) -> Step:
    """Return every arm at every point and at the shared recipe, then the arms at the recipes that were chosen."""
    experiment, rows = state.experiment, state.rows
    assert experiment.tune is not None
    if state.cohort < 0:
        if rows.fact(TUNING) is None:
            return Step(fact_wanted="tuning")
        tried = (ArmEntry(arm, experiment.tune.seeds) for arm in tried_arms(experiment, rows))
        return entering(state, (*tried, *listed_entries(experiment, rows))) or OVER
    if state.cohort == 0:
        if rows.fact(CHOICES) is None and (chosen := choices(experiment, rows)) is not None:
            return Step(facts={CHOICES: chosen})
        seeds = first_seeds(experiment.pretraining.seeds)
        own = tuple(ArmEntry(arm, seeds) for arm in own_arms(experiment, rows))
        return entering(state, own) or _after_last_cohort(state)
    return _after_last_cohort(state)


def _after_last_cohort(state: RunState) -> Step:
    """Return further seeds where they are to be added until all is decided, then the audit."""
    if state.failed or not state.trials:
        return OVER
    added = extra_seeds(state.experiment, state.rows)
    names = dict.fromkeys(trial.plan.row.arm for trial in state.trials.values())
    more = [TrialRow(f"{name}/{seed}", name, seed, state.cohort) for name in names for seed in added.get(name, ())]
    if more:
        return Step(trials=tuple(more))
    chosen = audited(state.experiment.pretraining, state.trials)
    if chosen is not None and state.rows.fact(AUDIT) is None:
        return Step(facts={AUDIT: [*chosen]})
    return OVER


def entering(state: RunState, entries: Iterable[ArmEntry]) -> Step | None:
    """Return the rows of a cohort's arms and trials, None where there are none; an arm that repeats has its row."""
    cohort, arms = state.cohort + 1, list[ArmRow]()
    trials: list[TrialRow] = []
    position = len(state.rows.arms())
    for entry in entries:
        if not entry.repeats:
            arms.append(_arm_row(state, entry.arm, position + len(arms)))
        name, repeated = entry.arm.name, cohort if entry.repeats else None
        trials += [TrialRow(f"{name}/{seed}", name, seed, repeated) for seed in entry.seeds]
    return Step(arms=tuple(arms), trials=tuple(trials)) if trials else None


def _arm_row(state: RunState, arm: Arm, position: int) -> ArmRow:
    experiment, candidate = state.experiment, arm.candidate
    view = experiment if arm.tuning_trial_of is None else tuning_view(experiment)
    return ArmRow(
        **vars(arm),
        position=position,
        cohort=state.cohort + 1,
        parameters=candidate.architecture.parameters,
        forward_flops=candidate.architecture.forward_flops(candidate.recipe.sequence_length),
        train_flops=candidate.train_flops(view.pretraining.tokens, experiment.baseline.architecture),
        after_record=state.last_trial_record,
    )
