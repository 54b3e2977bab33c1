"""The ledger of a real search once more: its candidates and decisions, from the recorded results in their order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from runners.replay.simulated import SimulatedStages, settled
from runners.scheduling.rows import Fact
from runners.scheduling.state import RunState
from runners.stage_labels import all_labels
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import ConflictError, DataError
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.records import Decision
from steeplechase.ledger.task_references import PROBE_REFERENCE


@dataclass(frozen=True)
class Reproduced:
    """What a replay of a search has found again."""

    candidates: int
    decisions: int
    duplicates: int | None
    """Children that equalled a candidate of before; None without a policy."""


def reproduce(experiment: Experiment, rows: LedgerRows) -> Reproduced:
    """Return the number of candidates and decisions of a search, all of which its scheduler takes again.

    What a sampler proposed for a cohort is taken from the ledger; a policy's candidates are made again. Raises
    ConflictError at the first candidate or decision that does not follow from the results before it, and DataError
    for an experiment without a search.
    """
    if experiment.search is None:
        raise DataError(f"{rows.path}: its design is no search, so that it has no decisions")
    records = [record for record in rows.records() if record.trial is not None]
    usual = all_labels(experiment)
    stages = SimulatedStages({}, labels={each.label: None for each in records if each.label not in usual})
    state = RunState(experiment, stages, rows.path)
    if state.has_policy:  # its children are bred by tasks above their references
        state.shared_records |= {record.label: record for record in rows.records() if record.trial is None}
    state.apply_all(Fact(PROBE_REFERENCE, value) for value in [rows.fact(PROBE_REFERENCE)] if value is not None)
    for record in records:
        settled(state, rows)
        if record.trial not in state.trials:
            raise _other(rows.path, str(record.trial))
        state.apply(replace(record, key=stages.key))
    required = _by_rung(state.rows.decisions())
    settled(state, rows)
    known = {arm.name: arm.fingerprint for arm in state.rows.arms()}
    for arm in rows.arms():
        if known.get(arm.name) != arm.fingerprint:
            raise _other(rows.path, arm.name)
    found, recorded = _by_rung(state.rows.decisions()), _by_rung(rows.decisions())
    differing = {*(recorded.items() - found.items()), *(required.items() - recorded.items())}
    for trial, level in sorted(rung for rung, _ in differing):
        raise _other(rows.path, f"the decision on {trial} at rung {level + 1}")
    candidates = sum(arm.name != BASELINE and arm.final_of is None for arm in rows.arms())
    return Reproduced(candidates, len(recorded), None if state.race is None else state.race.duplicates)


def _by_rung(decisions: Iterable[Decision]) -> Mapping[tuple[str, int], tuple[bool, float | None, int]]:
    return {(each.trial, each.level): (each.cleared, each.threshold, each.compared_with) for each in decisions}


def _other(path: Path, name: str) -> ConflictError:
    return ConflictError(f"{path}: {name} does not follow from the recorded results; they are of other code")
