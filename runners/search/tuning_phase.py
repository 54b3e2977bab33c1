"""The tuning phase: what is tried for every arm, and the recipe at which each is then compared as its own.

What is tried and what was chosen are facts, written once before they are acted on. Nothing is written here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from configuration.arm import BASELINE, Arm
from configuration.designs.point import level
from configuration.experiment import Experiment
from configuration.stage_label import PRETRAIN
from configuration.tuning_experiment import tuning_view
from configuration.tuning_points import AT, Point, change_size, grid_points, name_of, points_of, value_at
from configuration.validation.tuning import impossible_arm
from foundation.schema import JsonValue
from ledger.database import LedgerRows
from ledger.records import TrialStatus, final_loss_of
from ledger.snapshot import TrialHistory, histories_of
from ledger.tuning_plan import CHOICES, TUNING, TuningPlan, choices_of
from ledger.tuning_selection import Choice, chosen, mean_over_seeds
from runners.dag import fine_tune_labels, pretrain_labels
from runners.search.observations import score_of
from runners.search.optuna_sampler import draws
from search_space.overrides import apply, difference

OWN = f"{AT}own"


def tried_arms(experiment: Experiment, rows: LedgerRows) -> tuple[Arm, ...]:
    """Return every arm at every point of the fact TUNING, which must be there."""
    tried = TuningPlan.of(rows.fact(TUNING))
    points = tuple(zip(tried.points, tried.names, strict=True))
    return tuple(
        _changed(experiment, arm, point, f"{arm.name}{AT}{name}", tuning_trial_of=arm.name)
        for arm in experiment.arms
        for point, name in points
    )


def own_arms(experiment: Experiment, rows: LedgerRows) -> tuple[Arm, ...]:
    """Return the arms at the recipes of the fact CHOICES, those that stay at the shared one left out."""
    tried = TuningPlan.of(rows.fact(TUNING))
    arms = {arm.name: arm for arm in experiment.arms}
    return tuple(
        _changed(experiment, arms[choice.arm], tried.points[choice.point], choice.own, tuned_from=choice.arm)
        for choice in choices_of(rows.fact(CHOICES))
        if choice.own != choice.arm
    )


@dataclass(frozen=True)
class Family:
    """Arms that are compared with one baseline and corrected for each other."""

    baseline: str
    arms: frozenset[str]


def families(rows: LedgerRows) -> Iterator[Family]:
    """Yield the arms at the shared recipe, and where recipes were chosen the arms at their own."""
    yield Family(
        BASELINE,
        frozenset(arm.name for arm in rows.arms() if arm.tuning_trial_of is None and arm.tuned_from is None),
    )
    own = {choice.arm: choice.own for choice in choices_of(rows.fact(CHOICES))}
    if own:
        yield Family(own[BASELINE], frozenset(own.values()))


def tuning_plan(experiment: Experiment) -> dict[str, JsonValue]:
    """Return what every arm is to be tried at, to be kept as the fact TUNING; points are drawn where they must be."""
    tune, view = experiment.tune, tuning_view(experiment)
    assert tune is not None
    arms, baseline = experiment.arms, experiment.baseline
    points = points_of(
        tune, baseline, lambda point: impossible_arm(arms, point, experiment.constraints) is None, draws
    )
    return {
        "points": [{**point} for point in points],
        "names": [name_of(point, tune, baseline) for point in points],
        "shared": {path: level(value_at(baseline, path)) for path in tune.vary},
        "ranges": {path: [*axis.ends] for path, axis in tune.ranges.items()},
        "sampler": "grid" if grid_points(tune, baseline) is not None else tune.sampler,
        "seeds": [*tune.seeds],
        "tokens": view.pretraining.tokens,
        "metric": tune.metric,
        "labels": [*pretrain_labels(view), *fine_tune_labels(view)],
    }


def _changed(
    experiment: Experiment,
    arm: Arm,
    point: Point,
    name: str,
    tuning_trial_of: str | None = None,
    tuned_from: str | None = None,
) -> Arm:
    candidate = apply(arm.candidate, point)
    return Arm(
        name,
        candidate,
        difference(experiment.baseline, candidate),
        tuning_trial_of=tuning_trial_of,
        tuned_from=tuned_from,
    )


def choices(experiment: Experiment, rows: LedgerRows) -> list[JsonValue] | None:
    """Return every arm's choice, to be kept as the fact CHOICES; None where a tuning trial has no result of its own.

    A failed trial is tried again by the next run, and what it then brings belongs to what is chosen.
    """
    tune, view, tried = experiment.tune, tuning_view(experiment), TuningPlan.of(rows.fact(TUNING))
    assert tune is not None
    histories = {one.trial.name: one for one in histories_of(rows, tried.labels)}
    sizes = [change_size(point, experiment.baseline) for point in tried.points]
    found: list[JsonValue] = []
    for arm in experiment.arms:
        values: list[float | None] = []
        for name in tried.names:
            trials = [histories[f"{arm.name}{AT}{name}/{seed}"] for seed in tried.seeds]
            if any(trial.status not in (TrialStatus.FINISHED, TrialStatus.DIVERGED) for trial in trials):
                return None
            values.append(mean_over_seeds([_value(view, tried.metric, trial) for trial in trials]))
        point = chosen(values, sizes, tune.larger_is_better)
        own = f"{arm.name}{OWN}" if point else arm.name
        found.append(Choice(arm.name, point, tuple(values), own).as_json)
    return found


def _value(view: Experiment, metric: str, history: TrialHistory) -> float | None:
    """Return what decides of one trial, None where it diverged."""
    if history.status is not TrialStatus.FINISHED:
        return None
    if metric == "score":
        return score_of(view, history)
    return final_loss_of(history.finished(PRETRAIN)[-1])
