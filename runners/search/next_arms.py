"""What is tried next: a table's own arms, or a search's next cohort from the ledger's results. Nothing is written."""

from collections.abc import Iterator
from dataclasses import dataclass

from configuration.arm import BASELINE, Arm, changed_arm
from configuration.experiment import Experiment
from configuration.seeds import first_seeds
from foundation.schema import JsonValue
from ledger.database import LedgerRows
from runners.search.history import SearchHistory
from runners.search.optuna_sampler import importance, propose
from runners.search.warm_start import warm_seen


@dataclass(frozen=True)
class ArmEntry:
    """An arm that enters at some pretraining seeds; one that repeats has entered before at others."""

    arm: Arm
    seeds: tuple[int, ...]
    repeats: bool = False


def listed_entries(experiment: Experiment, rows: LedgerRows) -> tuple[ArmEntry, ...]:
    """Return the arms of the file that the ledger does not hold: all at first, later those that were added."""
    known = {arm.name for arm in rows.arms()}
    seeds = first_seeds(experiment.pretraining.seeds)
    return tuple(ArmEntry(arm, seeds) for arm in experiment.arms if arm.name not in known)


def count_of_proposals(experiment: Experiment, cohort: int, rows: LedgerRows) -> int:
    """Return how many candidates a search's cohort is still to be given, beside the arms of the file."""
    assert experiment.search is not None
    size = experiment.pretraining.hurdle.cohort_size(cohort, experiment.search.cohort)
    listed = len(experiment.arms) if cohort == 0 else 0
    past = SearchHistory(experiment, rows).proposals
    return max(0, min(experiment.search.max_candidates - past, size) - listed)


def proposed_entries(experiment: Experiment, cohort: int, count: int, rows: LedgerRows) -> tuple[ArmEntry, ...]:
    """Return up to `count` candidates for a cohort, none where the space is exhausted: equal for equal rows.

    A repeat comes with the baseline at its seed, so that every trial has a difference to it at its own seed.
    """
    design, past = experiment.search, SearchHistory(experiment, rows)
    assert design is not None
    seen = (*warm_seen(experiment, rows, past.baseline), *past.seen())
    seeds = len(first_seeds(experiment.pretraining.seeds))
    points = propose(design, experiment.baseline, seen, cohort, count, experiment.constraints, seeds)
    listed = listed_entries(experiment, rows) if cohort == 0 else ()
    entries = _entries(experiment, past, points, len(past.arms) + len(listed))
    return (*listed, *_baseline_beside(experiment, past, entries), *entries)


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
    missing = past.missing_at_baseline(seed for entry in entries if entry.repeats for seed in entry.seeds)
    if missing:
        yield ArmEntry(next(arm for arm in experiment.arms if arm.name == BASELINE), missing, repeats=True)


def importance_of_axes(experiment: Experiment, rows: LedgerRows) -> dict[str, JsonValue]:
    """Return each axis's share of the variance of the held-out loss at the first mark; empty where it is unknown."""
    assert experiment.search is not None
    return {**importance(experiment.search, experiment.baseline, SearchHistory(experiment, rows).seen())}
