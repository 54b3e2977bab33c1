"""Measured throughput: seconds per FLOP of pretraining in an earlier run, by candidate."""

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
    """Return the median over the seeds, by the candidate's canonical text.

    Raises MachineError if the folder has no ledger, was measured on another processor, or has seconds that may
    include more or less than pretraining; CorruptionError if the ledger or the store is damaged.
    """
    with closing(Ledger.at(folder)) as ledger:
        manifest = ledger.fact("manifest")
        measured_on = manifest.get("processor") if isinstance(manifest, dict) else None
        if measured_on != processor():
            raise MachineError(f"{folder}: measured on {measured_on}; this machine is {processor()}")
        arms, trials, records = ledger.arms(), ledger.trials(), ledger.records()
        document = ledger.fact("document")
    pretraining = document.get("pretraining") if isinstance(document, dict) else None
    tokens = pretraining.get("tokens") if isinstance(pretraining, dict) else None
    baseline = arms[0].candidate.architecture if arms else None
    seconds_by_trial = _pretraining_seconds(records, ResultPaths.of(folder).store())
    rates: dict[str, float] = {}
    unreliable: list[str] = []
    for arm in arms:
        if arm.tuning_trial_of is not None or arm.candidate.recipe.pruning is not None:
            continue  # trained on another budget, or at two sizes
        names = [trial.name for trial in trials if trial.arm == arm.name and trial.name in seconds_by_trial]
        timed = [seconds for name in names if (seconds := seconds_by_trial[name]) is not None]
        if names and not timed:
            unreliable.append(arm.name)
        elif timed and baseline is not None and isinstance(tokens, int):
            rates[arm.identity] = median(timed) / arm.candidate.train_flops(tokens, baseline)
    if unreliable:
        raise MachineError(
            f"{folder}: the seconds of {', '.join(unreliable)} may include more or less than pretraining (resumed "
            "after a kill, measured by an earlier version, or their stages are missing); run it again with an --out "
            "folder outside results/"
        )
    return rates


def _pretraining_seconds(records: tuple[Record, ...], store: ArtifactStore) -> dict[str, float | None]:
    """Return the seconds of pretraining by trial, None if the duration of one of its stages is unreliable."""
    seconds_by_trial: dict[str, float | None] = {}
    for record in records:
        if record.trial is None or record.stage != PRETRAIN or record.status is not Status.FINISHED:
            continue
        outcome, before = store.outcome(record.stage, record.key), seconds_by_trial.get(record.trial, 0.0)
        reliable = outcome is not None and outcome.warm_up_seconds is not None
        seconds_by_trial[record.trial] = before + record.seconds if reliable and before is not None else None
    return seconds_by_trial
