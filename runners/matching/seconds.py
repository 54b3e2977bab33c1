"""Seconds of pretraining as measured before: what an operation of an arm took, by the candidate it belongs to."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from statistics import median

from runners.kept.ledger import Ledger
from runners.kept.manifest import processor
from runners.kept.records import Status
from search_space.candidate import Candidate
from search_space.declaration import canonical, canonical_text
from search_space.refusals import EnvironmentRefused


def seconds_per_operation(folder: Path) -> Mapping[str, float]:
    """Return the median over the seeds by the canonical text of the candidate.

    Raises EnvironmentRefused where the folder has no ledger or was measured on another processor, and what the
    ledger raises where it cannot be trusted.
    """
    with closing(Ledger.at(folder)) as ledger:
        made_on = ledger.fact("manifest")
        elsewhere = made_on.get("processor") if isinstance(made_on, dict) else None
        if elsewhere != processor():
            raise EnvironmentRefused(f"{folder}: measured on {elsewhere}; this machine is {processor()}")
        arms, trials, records = ledger.arms(), ledger.trials(), ledger.records()
        document = ledger.fact("document")
    pretraining = document.get("pretraining") if isinstance(document, dict) else None
    tokens = pretraining.get("tokens") if isinstance(pretraining, dict) else None
    baseline = Candidate.model_validate_json(canonical_text(dict(arms[0].candidate))).architecture if arms else None
    spent: dict[str, float] = defaultdict(float)
    for record in records:
        if record.trial is not None and record.stage == "pretrain" and record.status is Status.FINISHED:
            spent[record.trial] += record.seconds
    found: dict[str, float] = {}
    for arm in arms:
        if arm.tunes is not None:
            continue  # trained on another budget
        candidate = Candidate.model_validate_json(canonical_text(dict(arm.candidate)))
        mine = [spent[trial.name] for trial in trials if trial.arm == arm.name and spent.get(trial.name)]
        if mine and baseline is not None and isinstance(tokens, int):
            operations = candidate.train_flops(tokens, baseline)
            found[canonical_text(canonical(candidate))] = median(mine) / operations
    return found
