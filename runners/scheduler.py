"""The scheduler: from the rows of a ledger to decisions, new trials and the stages that may run now. Pure.

The rows of a step are written to the ledger before the next step is computed. A run is resumed by computing the next
step of its ledger.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from runners.scheduling.decisions import AUDIT, audited
from runners.scheduling.state import RunState
from runners.search.next_arms import (
    ArmEntry,
    arm_row,
    count_of_proposals,
    extra_seeds,
    final_entries,
    finalists_fact,
    listed_entries,
    proposed_entries,
    winner_fact,
)
from runners.search.tuning_phase import choices, own_arms, tuning_arms
from runners.search.warm_start import WARM_START
from runners.work_queue import StageTask
from steeplechase.configuration.seeds import first_seeds
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.contamination import refuse_contamination
from steeplechase.ledger.phase_plans import CHOICES, FINALISTS, TUNING, WINNER, FinalPlan
from steeplechase.ledger.records import ArmRow, Decision, TrialRow
from steeplechase.ledger.task_references import PROBE_REFERENCE, ProbeReference, references_of


@dataclass(frozen=True)
class ProposalRequest:
    """A request to the sampler of a search: `count` candidates for a cohort."""

    cohort: int
    count: int


@dataclass(frozen=True)
class Step:
    """The next step: rows to write, a request, or the stages that may run; the run is done if all are empty."""

    decisions: tuple[Decision, ...] = ()
    """Hurdle decisions, written in one transaction."""
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    arms: tuple[ArmRow, ...] = ()
    """New arms, written in one transaction with `trials`."""
    trials: tuple[TrialRow, ...] = ()
    requested_fact: Literal["tuning", "warm_start"] | None = None
    """A fact to compute with a sampler, or from other ledgers."""
    requested_proposals: ProposalRequest | None = None
    ready: tuple[StageTask, ...] = ()
    """The stages that may run now, in starting order; includes those that are already running."""


DONE = Step()


def next_step(state: RunState) -> Step:
    """Return the next step of a state; shared stages come first.

    Raises DataError if too much of a dev set is in the pretraining text.
    """
    if state.shared_pending:
        return Step(ready=state.shared_ready)
    if not state.experiment.has_trials:
        return DONE
    refuse_contamination(state.experiment, state.shared_records.values())
    if (step := _hurdle_step(state) or _policy_step(state) or _listed_step(state)) is not None:
        return step
    if live := state.live:
        first = state.search.next_action()  # a retried trial may change the hurdles of later cohorts
        all_run = state.has_policy  # a policy has no cohorts: each of its candidates enters on its own
        runnable = (each for each in live if all_run or each.audited or each.plan.final or each.name in first)
        return Step(ready=tuple(task for trial in runnable for task in state.ready_of(trial)))
    return _next_cohort(state)


def _hurdle_step(state: RunState) -> Step | None:
    """Return the decisions that can be taken, and before the first what a probe's score must exceed."""
    if (reference := _probe_reference(state)) is not None:
        return Step(facts={PROBE_REFERENCE: reference})
    decisions = state.decidable()
    return Step(decisions=decisions) if decisions else None


def _probe_reference(state: RunState) -> JsonValue:
    """Return the fact PROBE_REFERENCE of a search by a probe; None once it is written, or decisions were taken."""
    probe = state.experiment.pretraining.hurdle.rung_probe
    if probe is None or state.rows.fact(PROBE_REFERENCE) is not None or state.rows.decisions():
        return None
    primary = state.experiment.fine_tuning.primary_metric
    found = references_of([*state.shared_records.values()], primary, (probe.task,)).get(probe.task)
    return None if found is None else ProbeReference.of(found).model_dump(mode="json")


def _policy_step(state: RunState) -> Step | None:
    """Return the next row of a policy's actions, None if all are written; the baseline enters before."""
    race = state.race
    if race is None or state.cohort < 0:
        return None
    if (arm := race.not_entered(state.rows.candidates, state.rows.path)) is not None:
        return entry_step(state, [ArmEntry(arm, first_seeds(state.experiment.pretraining.seeds))])
    decisions = race.decisions(state.trials, state.rows.path)
    return Step(decisions=decisions) if decisions else None


def _listed_step(state: RunState) -> Step | None:
    """Return the rows of the arms and seeds of the file that have not entered a study that may grow."""
    return entry_step(state, listed_entries(state.experiment, state.rows)) if state.lacks_listed else None


def _next_cohort(state: RunState) -> Step:
    """Return the step after every trial has ended: the next cohort, then the audit.

    If the next cohort depends on results, it does not enter while a trial has failed: the next run retries the trial,
    and its result is part of that decision.
    """
    experiment = state.experiment
    if state.failed and (experiment.search is not None or experiment.tune is not None):
        return DONE
    final = FinalPlan.of(state.rows.fact(FINALISTS))
    if state.rows.fact(AUDIT) is not None or (final is not None and final.declared):
        return after_last_cohort(state)
    if experiment.search is not None:
        return _next_search_step(state)
    if experiment.tune is not None:
        return _next_tuning_step(state)
    return after_last_cohort(state)


def _next_search_step(state: RunState) -> Step:
    experiment, cohort = state.experiment, state.cohort + 1
    assert experiment.search is not None
    count = 0 if state.has_policy else count_of_proposals(experiment, cohort, state.rows)
    if not count:
        listed = listed_entries(experiment, state.rows) if cohort == 0 else ()
        return entry_step(state, listed) or after_last_cohort(state)
    if experiment.search.warm_start and state.rows.fact(WARM_START) is None:
        return Step(requested_fact="warm_start")
    return Step(requested_proposals=ProposalRequest(cohort, count))


def proposed_step(state: RunState, request: ProposalRequest) -> Step:
    """Return the step of the requested proposals, or the one to take if the space is exhausted."""
    entries = proposed_entries(state.experiment, request.cohort, request.count, state.rows, state.known)
    return entry_step(state, entries) or after_last_cohort(state)


def _next_tuning_step(state: RunState) -> Step:
    """Return every arm at every tuning point and at the shared recipe, then the arms at their selected recipes."""
    experiment, rows = state.experiment, state.rows
    assert experiment.tune is not None
    if state.cohort < 0:
        if rows.fact(TUNING) is None:
            return Step(requested_fact="tuning")
        tuning = (ArmEntry(arm, experiment.tune.seeds) for arm in tuning_arms(experiment, rows))
        return entry_step(state, (*tuning, *listed_entries(experiment, rows))) or DONE
    if state.cohort == 0:
        if rows.fact(CHOICES) is None and (chosen := choices(experiment, rows)) is not None:
            return Step(facts={CHOICES: chosen})
        seeds = first_seeds(experiment.pretraining.seeds)
        own = tuple(ArmEntry(arm, seeds) for arm in own_arms(experiment, rows))
        return entry_step(state, own) or after_last_cohort(state)
    return after_last_cohort(state)


def after_last_cohort(state: RunState) -> Step:
    """Return the extra seeds of a sequential design, then the audit, then the final comparison of a search."""
    if state.failed or not state.trials:
        return DONE
    seeds = extra_seeds(state.experiment, state.rows)
    names = dict.fromkeys(trial.plan.row.arm for trial in state.trials.values())
    trials = [TrialRow(f"{name}/{seed}", name, seed, state.cohort) for name in names for seed in seeds.get(name, ())]
    if trials:
        return Step(trials=tuple(trials))
    chosen = audited(state.experiment.pretraining, state.trials)
    if chosen is not None and state.rows.fact(AUDIT) is None:
        return Step(facts={AUDIT: [*chosen]})
    return DONE if state.experiment.search is None else _final_step(state)


def _final_step(state: RunState) -> Step:
    """Return the finalists of a search at their seeds, then the winner and the arms of its ablation."""
    experiment, rows = state.experiment, state.rows
    if rows.fact(FINALISTS) is None:
        chosen = finalists_fact(experiment, rows)
        return DONE if chosen is None else Step(facts={FINALISTS: chosen})
    if (entering := entry_step(state, final_entries(experiment, rows))) is not None:
        return entering
    return Step(facts={WINNER: winner_fact(experiment, rows)}) if rows.fact(WINNER) is None else DONE


def entry_step(state: RunState, entries: Iterable[ArmEntry]) -> Step | None:
    """Return the rows of a cohort's arms and trials, None without trials; an arm that entered before has its row.

    What a study grows by is of its one cohort, as if it had been declared from the start.
    """
    cohort, arms = 0 if state.experiment.may_grow else state.cohort + 1, list[ArmRow]()
    entered, trials = state.rows.arms(), list[TrialRow]()
    known, searched = {arm.name for arm in entered}, [arm for arm in entered if arm.final_of is None]
    for entry in entries:
        name, repeat_cohort = entry.arm.name, cohort if entry.repeats else None
        if name not in known:
            before = searched if entry.arm.final_of is None else entered  # a search may take more candidates later
            position = len(before) + len(arms)
            arms.append(arm_row(state.experiment, entry.arm, position, cohort, state.last_trial_record))
        trials += [TrialRow(f"{name}/{seed}", name, seed, repeat_cohort) for seed in entry.seeds]
    return Step(arms=tuple(arms), trials=tuple(trials)) if trials else None
