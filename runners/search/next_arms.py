"""The next arms: those listed in the experiment, or the next cohort of a search. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from runners.search.encoding import KnownCandidates
from runners.search.history import SearchHistory
from runners.search.optuna_sampler import importance, propose
from runners.search.warm_start import warm_start_observations
from steeplechase.configuration.arm import BASELINE, Arm, changed_arm
from steeplechase.configuration.designs.search import NON_ADAPTIVE, Search
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import settings_of
from steeplechase.configuration.seeds import first_seeds
from steeplechase.foundation.schema import JsonValue
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
