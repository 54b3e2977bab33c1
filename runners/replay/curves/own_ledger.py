"""Curves from a results folder of this project: held-out loss by tokens, mean over seeds, one candidate per arm."""

import math
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from runners.replay.curves.recorded import RecordedCurves, recorded
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.stage_results import Pretraining, PretrainResult


def read(folder: Path) -> RecordedCurves:
    """Return the curves of a folder. Raises as Ledger does, and Unreadable if there are too few results."""
    with closing(Ledger.at(folder)) as ledger:
        arms, trials, records = ledger.arms(), ledger.trials(), ledger.records()
    arms = tuple(arm for arm in arms if arm.tuning_trial_of is None and arm.final_of is None)  # candidates alone
    seeds: dict[str, dict[str, dict[float, float]]] = {arm.name: {} for arm in arms}
    arm_of = {trial.name: trial.arm for trial in trials if trial.arm in seeds}
    for record in records:
        if record.stage == PRETRAIN and record.trial in arm_of and record.status is not Status.FAILED:
            seeds[arm_of[record.trial]].setdefault(record.trial, {}).update(points_of(record))
    points = {arm: _mean(list(curves.values())) for arm, curves in seeds.items()}
    trained = {arm: curve for arm, curve in points.items() if curve}
    configs: dict[str, Mapping[str, JsonValue]] = {arm.name: canonical(arm.candidate) for arm in arms}
    return recorded(folder.name, configs, _until_diverged(trained), maximise=False)


def points_of(record: Record) -> dict[float, float]:
    """Return held-out loss by tokens; NaN at the tokens where the stage diverged."""
    result = record.result
    if not isinstance(result, Pretraining):
        return {}
    end = result.held_out_loss if isinstance(result, PretrainResult) else math.nan
    points = {**dict(result.held_out_curve), result.tokens: end}
    return {float(step): float(value) for step, value in points.items() if math.isfinite(step)}


def _mean(curves: list[dict[float, float]]) -> dict[float, float]:
    """Return the mean over seeds at their common steps; NaN where one diverged."""
    steps = set.intersection(*(set(curve) for curve in curves)) if curves else set()
    means = {step: sum(curve[step] for curve in curves) / len(curves) for step in sorted(steps)}
    broken = [step for curve in curves for step, value in curve.items() if math.isnan(value)]
    return {**means, **dict.fromkeys(broken, math.nan)}


def _until_diverged(points: Mapping[str, dict[float, float]]) -> dict[str, dict[float, float]]:
    """Return curves in which a diverged candidate is NaN at every step of any curve after its divergence."""
    every = sorted({step for curve in points.values() for step in curve})
    filled: dict[str, dict[float, float]] = {}
    for arm, curve in points.items():
        broken = min((step for step, value in curve.items() if math.isnan(value)), default=math.inf)
        filled[arm] = {**curve, **{step: math.nan for step in every if step >= broken}}
    return filled
