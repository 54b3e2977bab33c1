"""What is tried next: a design's own arms, or a search's next cohort made from the ledger's results."""

from collections.abc import Iterator
from dataclasses import dataclass

from configuration.arm import BASELINE, Arm, changed_arm
from configuration.experiment import Experiment
from configuration.seeds import first_seeds
from foundation.schema import JsonValue
from ledger.database import Ledger
from runners.search.history import SearchHistory
from runners.search.optuna_sampler import importance, propose
from runners.search.tuning_phase import own_arms, tried_arms
from runners.search.warm_start import warm_seen


@dataclass(frozen=True)
class ArmEntry:
    """An arm that enters at some pretraining seeds; one that repeats has entered before at others."""

    arm: Arm
    seeds: tuple[int, ...]
    repeats: bool = False


def next_cohort(experiment: Experiment, number: int, ledger: Ledger) -> tuple[ArmEntry, ...]:
    """Return the entries of cohort `number`, none where the design has no more; the first holds the baseline."""
    design, seeds = experiment.search, first_seeds(experiment.pretraining.seeds)
    if experiment.tune is not None and number == 1:
        return tuple(ArmEntry(arm, seeds) for arm in own_arms(experiment, ledger))
    if design is None and number > 0:  # arms that were added to the file since the ledger was begun
        known = {arm.name for arm in ledger.arms()}
        return tuple(ArmEntry(arm, seeds) for arm in experiment.arms if arm.name not in known)
    first = tuple(ArmEntry(arm, seeds) for arm in experiment.arms) if number == 0 else ()
    if experiment.tune is not None and number == 0:
        return (*(ArmEntry(arm, experiment.tune.seeds) for arm in tried_arms(experiment, ledger)), *first)
    if design is None:
        return first
    past = SearchHistory(experiment, ledger)
    size = experiment.pretraining.hurdle.cohort_size(number, design.cohort)
    wanted = min(design.max_candidates - past.proposals, size) - len(first)
    if wanted <= 0:
        return first
    seen = (*warm_seen(experiment, ledger, past.baseline), *past.seen())
    points = propose(design, experiment.baseline, seen, number, wanted, experiment.constraints, len(seeds))
    entries = _entries(experiment, past, points, len(past.arms) + len(first))
    return (*first, *_baseline_beside(experiment, past, entries), *entries)


def _entries(
    experiment: Experiment, past: SearchHistory, points: tuple[dict[str, JsonValue], ...], arms: int
) -> tuple[ArmEntry, ...]:
    """Return an entry per point: a new candidate, or one that is known at its next seed."""
    known = {arm.identity: arm.name for arm in past.arms}
    again: dict[str, int] = {}
    entries: list[ArmEntry] = []
    for point in points:
        arm = changed_arm("", experiment.baseline, point)
        name = known.setdefault(arm.identity, f"candidate-{arms + len(known) - len(past.arms):03d}")
        named = Arm(name, arm.candidate, arm.changes)
        if any(one.name == name for one in past.arms) or any(entry.arm.name == name for entry in entries):
            seed = past.next_seed(name) + again.get(name, 0)
            again[name] = again.get(name, 0) + 1
            entries.append(ArmEntry(named, (seed,), repeats=True))
        else:
            entries.append(ArmEntry(named, first_seeds(experiment.pretraining.seeds)))
    return tuple(entries)


def _baseline_beside(
    experiment: Experiment, past: SearchHistory, entries: tuple[ArmEntry, ...]
) -> Iterator[ArmEntry]:
    """Yield the baseline at the seeds of repeats, so that every trial has a difference to it at its own seed."""
    missing = past.missing_at_baseline(seed for entry in entries if entry.repeats for seed in entry.seeds)
    if missing:
        yield ArmEntry(next(arm for arm in experiment.arms if arm.name == BASELINE), missing, repeats=True)


def importance_of_axes(experiment: Experiment, ledger: Ledger) -> dict[str, JsonValue]:
    """Return each axis's share of the variance of the held-out loss at the first mark; empty where it is unknown."""
    assert experiment.search is not None
    return {**importance(experiment.search, experiment.baseline, SearchHistory(experiment, ledger).seen())}
