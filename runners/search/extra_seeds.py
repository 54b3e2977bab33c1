"""Extra pretraining seeds of a sequential design, by arm; arms at their own recipes form a separate family."""

from runners.search.scored_trials import scored_trials
from runners.search.tuning_phase import families
from runners.stage_labels import all_labels
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.next_seeds import next_seeds
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.metrics import results_by_arm


def extra_seeds(experiment: Experiment, rows: LedgerRows) -> dict[str, tuple[int, ...]]:
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
