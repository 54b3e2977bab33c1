"""The end of a search: its finalists at fresh seeds, then the ablation of the winner. Pure: from rows to rows.

Finalists and winner are write-once facts in the ledger. Without declared finalists nothing is added, unless no
candidate has finished: the best at its last rung is then trained to the end at the seeds of the search.
"""

from dataclasses import replace
from math import isfinite
from statistics import fmean

from runners.search.history import SearchHistory
from runners.search.next_arms import ArmEntry
from runners.search.observations import Observation
from runners.search.scored_trials import scored_trials
from runners.search.study_values import MAXIMISED, values_at_rungs
from runners.stage_labels import all_labels
from steeplechase.analysis.pareto_front import front
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import FINAL, final_experiment, final_settings
from steeplechase.configuration.metrics import SCORE, objectives_in_effect
from steeplechase.configuration.seeds import first_seeds
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.final_plan import FINALISTS, WINNER, FinalPlan, winner_of
from steeplechase.ledger.trial_history import KnownRows


def finalists_fact(experiment: Experiment, rows: KnownRows) -> dict[str, JsonValue] | None:
    """Return the content of the fact FINALISTS; None if there is nothing to compare, or no objective to rank by."""
    assert experiment.search is not None
    history, declared = SearchHistory(experiment, rows), experiment.search.finalists
    ranked = ranked_candidates(history.objectives, history.candidates) if history.objectives else []
    if declared is None and any(history.candidates[name].complete for name in ranked):
        return None
    chosen = ranked[: 1 if declared is None else declared.count]
    if not chosen:
        return None
    used = {*first_seeds(experiment.pretraining.seeds), *(trial.seed for trial in rows.trials())}
    fresh = range(max(used) + 1, max(used) + 1 + (0 if declared is None else declared.seeds))
    changes = {arm.name: {**arm.changes} for arm in history.arms}
    return {
        "finalists": {name: changes[name] for name in chosen},
        "seeds": [*fresh] or [*first_seeds(experiment.pretraining.seeds)],
        "labels": [*all_labels(final_settings(experiment))],
        "declared": declared is not None,
        "ranked_by": [*history.objectives],
    }


def ranked_candidates(objectives: tuple[str, ...], candidates: dict[str, Observation]) -> list[str]:
    """Return the names of the candidates, the best first; without those that diverged or reached no rung.

    Finished ones come first, of several objectives those on the Pareto front before the others, by the first
    objective; the others follow by the last rung that they reached and by their value there.
    """
    finished = [name for name, seen in candidates.items() if seen.complete and all(map(isfinite, seen.values))]
    signed = {name: _signed(objectives, candidates[name]) for name in finished}
    on_front = {finished[index] for index in front([signed[name] for name in finished])}
    stopped = [name for name, seen in candidates.items() if not seen.complete and seen.losses and not seen.diverged]
    return [
        *sorted(finished, key=lambda name: (name not in on_front, signed[name])),
        *sorted(stopped, key=lambda name: _at_last_rung(objectives[0], candidates[name])),
    ]


def _signed(objectives: tuple[str, ...], seen: Observation) -> tuple[float, ...]:
    pairs = zip(objectives, seen.values, strict=True)
    return tuple(-value if name in MAXIMISED else value for name, value in pairs)


def _at_last_rung(objective: str, seen: Observation) -> tuple[float, ...]:
    value = values_at_rungs(objective, seen)[-1]
    return -float(len(seen.losses)), -value if objective in MAXIMISED else value


def final_entries(experiment: Experiment, rows: KnownRows) -> tuple[ArmEntry, ...]:
    """Return the arms of the final comparison that have not entered, at its seeds; the baseline is one of them."""
    plan = FinalPlan.of(rows.fact(FINALISTS))
    assert plan is not None
    entered = {arm.name for arm in rows.arms()}
    declared = final_experiment(experiment, plan.finalists, plan.seeds, winner_of(rows.fact(WINNER)))
    named = (replace(arm, name=f"{arm.name}{FINAL}", final_of=arm.name) for arm in declared.arms)
    return tuple(ArmEntry(arm, plan.seeds) for arm in named if arm.name not in entered)


def winner_fact(experiment: Experiment, rows: KnownRows) -> list[JsonValue]:
    """Return the finalist that is best by the first objective, for the fact WINNER; none if none has finished.

    As in the report, no task below a reference is in the score; of no task it is no objective, as in the search.
    """
    plan, search = FinalPlan.of(rows.fact(FINALISTS)), experiment.search
    assert plan is not None
    assert search is not None
    arms = {arm.name: arm.final_of for arm in rows.arms() if arm.final_of in plan.finalists}
    trials = scored_trials(final_settings(experiment), rows, plan.labels, frozenset(arms))
    scored = [SCORE for _, measured in trials if SCORE in measured]
    comparable = experiment.pretraining.losses_compare
    objective = next(iter(objectives_in_effect(search.objectives, scored, comparable)), None)
    if objective is None:
        return []
    values: dict[str, list[float]] = {}
    for trial, measured in trials:
        values.setdefault(str(arms[trial.arm]), []).append(measured.get(objective, float("nan")))
    means = {name: fmean(each) for name, each in values.items() if all(map(isfinite, each))}
    best = max if objective in MAXIMISED else min
    return [best(means, key=lambda name: means[name])] if means else []
