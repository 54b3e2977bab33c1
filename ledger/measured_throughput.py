"""Seconds of pretraining as measured before: what an operation of an arm took, by the candidate it belongs to."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from statistics import median

from configuration.stage_label import PRETRAIN
from foundation.environment import processor
from foundation.errors import MachineError
from ledger.artifacts import ArtifactStore
from ledger.database import Ledger
from ledger.paths import ResultPaths
from ledger.records import Record, Status


def seconds_per_operation(folder: Path) -> Mapping[str, float]:
    """Return the median over the seeds by the canonical text of the candidate.

    Raises MachineError where the folder has no ledger, was measured on another processor or holds seconds that
    are not surely those of pretraining alone, and what ledger and stage store raise where they cannot be trusted.
    """
    with closing(Ledger.at(folder)) as ledger:
        made_on = ledger.fact("manifest")
        elsewhere = made_on.get("processor") if isinstance(made_on, dict) else None
        if elsewhere != processor():
            raise MachineError(f"{folder}: measured on {elsewhere}; this machine is {processor()}")
        arms, trials, records = ledger.arms(), ledger.trials(), ledger.records()
        document = ledger.fact("document")
    pretraining = document.get("pretraining") if isinstance(document, dict) else None
    tokens = pretraining.get("tokens") if isinstance(pretraining, dict) else None
    baseline = arms[0].candidate.architecture if arms else None
    spent = _spent(records, ArtifactStore(ResultPaths.of(folder).stages))
    found: dict[str, float] = {}
    unsure: list[str] = []
    for arm in arms:
        if arm.tuning_trial_of is not None:
            continue  # trained on another budget
        mine = [spent[trial.name] for trial in trials if trial.arm == arm.name and trial.name in spent]
        timed = [seconds for seconds in mine if seconds is not None]
        if mine and not timed:
            unsure.append(arm.name)
        elif timed and baseline is not None and isinstance(tokens, int):
            found[arm.identity] = median(timed) / arm.candidate.train_flops(tokens, baseline)
    if unsure:
        raise MachineError(
            f"{folder}: the seconds of {', '.join(unsure)} are not surely those of pretraining alone (carried on "
            "after a kill, measured by a former version, or their stages are gone); run it again with an --out "
            "folder outside results/"
        )
    return found


def _spent(records: tuple[Record, ...], store: ArtifactStore) -> dict[str, float | None]:
    """Return the seconds of pretraining by trial, None where one stage of it was not timed as a whole and alone."""
    spent: dict[str, float | None] = {}
    for record in records:
        if record.trial is None or record.stage != PRETRAIN or record.status is not Status.FINISHED:
            continue
        outcome, before = store.outcome(record.stage, record.key), spent.get(record.trial, 0.0)
        sure = before is not None and outcome is not None and outcome.warm_up_seconds is not None
        spent[record.trial] = before + record.seconds if sure and before is not None else None
    return spent
