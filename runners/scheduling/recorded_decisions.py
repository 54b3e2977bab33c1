"""A policy replayed on the ledger of a real search: its decisions again, from the recorded results in their order."""

from dataclasses import dataclass

from runners.scheduling.race_of_trials import RaceOfTrials
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.foundation.errors import ConflictError, DataError
from steeplechase.ledger.database import LedgerRows


@dataclass(frozen=True)
class Reproduced:
    """What a replay of a search has found again."""

    policy: str
    candidates: int
    decisions: int
    duplicates: int
    """Children that equalled a candidate of before."""


def reproduce(experiment: Experiment, rows: LedgerRows) -> Reproduced:
    """Return the number of candidates and decisions of a search, all of which its policy takes again.

    Raises ConflictError at the first candidate or decision that does not follow from the results before it, and
    DataError for an experiment without a policy.
    """
    if experiment.search is None or experiment.search.policy is None:
        found = "its design is no search" if experiment.search is None else "its search has no policy"
        raise DataError(f"{rows.path}: {found}; decisions of hurdles are in the report")
    race = RaceOfTrials(experiment)
    results: dict[str, int] = {}
    for record in rows.records():
        if record.trial is not None and record.label in race.labels:
            results[record.trial] = results.get(record.trial, 0) + 1
            race.add(record)
    entered = [arm for arm in rows.arms() if arm.name != BASELINE]
    race.not_entered(entered, rows.path)
    recorded = {(one.trial, one.level): one.cleared for one in rows.decisions()}
    expected: dict[tuple[str, int], bool] = {}
    for arm in entered:
        for name in (f"{arm.name}/{seed}" for seed in first_seeds(experiment.pretraining.seeds)):
            last = min(race.target(arm.name), results.get(name, 0)) - 1
            expected |= {(name, level): True for level in range(last)}
            if race.over and recorded.get((name, last)) is False:  # the end of a search stops what waits
                expected[name, last] = False
    for trial, level in sorted({key for key, _ in recorded.items() ^ expected.items()}):
        wrong = f"the decision on {trial} at pause {level + 1} does not follow from the recorded results"
        raise ConflictError(f"{rows.path}: {wrong}; they are of other code")
    return Reproduced(experiment.search.policy, len(entered), len(recorded), race.duplicates)
