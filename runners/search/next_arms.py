"""The next arms and seeds: listed ones, the next cohort of a search, or the finalists at its end. Pure.

Arms of the file may have further seeds until every comparison is decided; arms at their own recipes are a family by
themselves. Finalists, at fresh seeds, and the winner, which is then ablated, are write-once facts in the ledger.
Without declared finalists nothing is added, unless no candidate has finished: the best at its last rung is then
trained to the end at the seeds of the search.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import isfinite
from statistics import fmean

from runners.search.encoding import KnownCandidates
from runners.search.history import SearchHistory, scored_trials
from runners.search.observations import Observation
from runners.search.optuna_sampler import importance, propose
from runners.search.study_values import MAXIMISED, values_at_rungs
from runners.search.tuning_phase import families
from runners.search.warm_start import warm_start_observations
from runners.stage_labels import all_labels
from steeplechase.analysis.pareto_front import front
from steeplechase.configuration.arm import BASELINE, Arm, changed_arm
from steeplechase.configuration.designs.search import NON_ADAPTIVE, Search
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import FINAL, final_experiment, final_settings, settings_of
from steeplechase.configuration.metrics import SCORE, objectives_in_effect
from steeplechase.configuration.next_seeds import next_seeds
from steeplechase.configuration.seeds import first_seeds
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.metrics import results_by_arm
from steeplechase.ledger.phase_plans import FINALISTS, WINNER, FinalPlan, winner_of
from steeplechase.ledger.records import ArmRow
from steeplechase.ledger.trial_history import KnownRows


@dataclass(frozen=True)
class ArmEntry:
    """An arm and the pretraining seeds at which it enters; one that has entered before has its row already."""

    arm: Arm
    seeds: tuple[int, ...]
    repeats: bool = False
    """Whether a search repeats it in a later cohort."""


def listed_entries(experiment: Experiment, rows: KnownRows) -> tuple[ArmEntry, ...]:
    """Return the arms of the file with the seeds that are not in the ledger: all at first, later what was added."""
    known = {row.name for row in rows.trials()}
    seeds = first_seeds(experiment.pretraining.seeds)
    missing = ((arm, tuple(s for s in seeds if f"{arm.name}/{s}" not in known)) for arm in experiment.arms)
    return tuple(ArmEntry(arm, added) for arm, added in missing if added)


def arm_row(experiment: Experiment, arm: Arm, position: int, cohort: int, after_record: int) -> ArmRow:
    """Return the row of an arm in the ledger, with its costs."""
    candidate = arm.candidate
    view = settings_of(experiment, arm)
    return ArmRow(
        **vars(arm),
        position=position,
        cohort=cohort,
        parameters=candidate.parameters,
        forward_flops=candidate.architecture.forward_flops(candidate.recipe.sequence_length),
        train_flops=candidate.train_flops(view.pretraining.tokens, experiment.baseline.architecture),
        after_record=after_record,
    )


def extra_seeds(experiment: Experiment, rows: KnownRows) -> dict[str, tuple[int, ...]]:
    """Return the seeds to add by arm; none if the seeds are listed, every comparison is decided, or none is left."""
    seeds = experiment.pretraining.seeds
    if isinstance(seeds, tuple):
        return {}
    found = tuple(families(rows))
    arms = frozenset[str]().union(*(family.arms for family in found))
    results = scored_trials(experiment, rows, all_labels(experiment), arms)
    added: dict[str, set[int]] = {}
    for family in found:
        members = [(row, values) for row, values in results if row.arm in family.arms]
        proposed = next_seeds(seeds.until_decided, *results_by_arm(members), family.baseline, experiment.comparison)
        for name, new_seeds in proposed.items():
            added.setdefault(name, set()).update(new_seeds)
    return {name: tuple(sorted(new_seeds)) for name, new_seeds in added.items()}


def count_of_proposals(experiment: Experiment, cohort: int, rows: KnownRows) -> int:
    """Return the number of candidates to propose for a cohort, besides the arms of the file."""
    assert experiment.search is not None
    size = experiment.pretraining.hurdle.cohort_size(cohort, experiment.search.cohort)
    listed = len(experiment.arms) if cohort == 0 else 0
    proposed = SearchHistory(experiment, rows).proposals
    return max(0, min(experiment.search.max_candidates - proposed, size) - listed)


def proposed_entries(
    experiment: Experiment, cohort: int, count: int, rows: KnownRows, known: KnownCandidates | None = None
) -> tuple[ArmEntry, ...]:
    """Return up to `count` candidates for a cohort, none if the space is exhausted; deterministic in the rows.

    A repeat enters with the baseline at the same seed, so that every trial is paired with the baseline by seed.
    """
    design, history = experiment.search, SearchHistory(experiment, rows)
    assert design is not None
    earlier = warm_start_observations(experiment, rows, history)
    seeds = len(first_seeds(experiment.pretraining.seeds))
    known = known or KnownCandidates(design, experiment.baseline, experiment.constraints)
    points = propose(
        in_effect(design, history),
        experiment.baseline,
        (*earlier, *history.observations()),
        cohort,
        count,
        seeds,
        known,
    )
    listed = listed_entries(experiment, rows) if cohort == 0 else ()
    arms = [changed_arm("", experiment.baseline, point) for point in points]
    for arm in arms:
        known.remember(arm)
    entries = _entries(experiment, history, arms, len(history.arms) + len(listed))
    return (*listed, *_baseline_repeats(experiment, history, entries), *entries)


def in_effect(design: Search, history: SearchHistory) -> Search:
    """Return the design with the objectives that are optimised now; without any it draws uniformly."""
    if not history.objectives:
        return design.model_copy(update={"sampler": design.sampler if design.sampler in NON_ADAPTIVE else "random"})
    return design.model_copy(update={"objectives": history.objectives})


def _entries(
    experiment: Experiment, history: SearchHistory, proposed: Iterable[Arm], arms: int
) -> tuple[ArmEntry, ...]:
    """Return an entry per proposal: a new candidate, or the next seed of a known one; `arms` have entered."""
    known = {arm.fingerprint: arm.name for arm in history.arms}
    entered = {arm.name for arm in history.arms}
    repeats_of: dict[str, int] = {}
    entries: list[ArmEntry] = []
    for arm in proposed:
        name = known.setdefault(arm.fingerprint, f"candidate-{arms + len(known) - len(history.arms):03d}")
        named = Arm(name, arm.candidate, arm.changes)
        if name in entered:
            seed = history.next_seed(name) + repeats_of.get(name, 0)
            repeats_of[name] = repeats_of.get(name, 0) + 1
            entries.append(ArmEntry(named, (seed,), repeats=True))
        else:
            entered.add(name)
            entries.append(ArmEntry(named, first_seeds(experiment.pretraining.seeds)))
    return tuple(entries)


def _baseline_repeats(
    experiment: Experiment, history: SearchHistory, entries: tuple[ArmEntry, ...]
) -> Iterator[ArmEntry]:
    missing = history.missing_at_baseline(seed for entry in entries if entry.repeats for seed in entry.seeds)
    if missing:
        yield ArmEntry(next(arm for arm in experiment.arms if arm.name == BASELINE), missing, repeats=True)


def importance_of_axes(experiment: Experiment, rows: KnownRows) -> dict[str, JsonValue]:
    """Return each axis's share of the variance of the first objective, as `importance` has it; empty if unknown."""
    design, history = experiment.search, SearchHistory(experiment, rows)
    assert design is not None
    if not history.objectives:
        return {}
    return {**importance(in_effect(design, history), experiment.baseline, history.observations())}


def finalists_fact(experiment: Experiment, rows: KnownRows) -> dict[str, JsonValue] | None:
    """Return the content of the fact FINALISTS; None if there is nothing to compare, or no objective to rank by."""
    assert experiment.search is not None
    history, declared = SearchHistory(experiment, rows), experiment.search.finalists
    candidates = history.candidates
    ranked = ranked_candidates(history.objectives, candidates) if history.objectives else []
    if declared is None and any(candidates[name].complete for name in ranked):
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
