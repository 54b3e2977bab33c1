"""Tuning in the ledger: what is tried for every arm, and which recipe each is then compared at as its own.

What is tried and what was chosen are facts, written once before they are acted on; a run that was killed reads them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from configuration.arm import BASELINE, Arm
from configuration.designs.point import level
from configuration.experiment import Experiment
from configuration.stage_label import PRETRAIN
from configuration.tuning_experiment import tuning_view
from configuration.tuning_points import AT, Point, change_size, grid_points, name_of, points_of, value_at
from configuration.validation.tuning import impossible_for
from foundation.schema import JsonValue
from ledger.database import Ledger
from ledger.records import TrialStatus, final_loss_of
from ledger.snapshot import TrialHistory, histories_of
from ledger.tuning_plan import CHOICES, TUNING, TuningPlan, choices_of
from ledger.tuning_selection import Choice, chosen, mean_over_seeds
from runners.dag import fine_tune_labels, pretrain_labels
from runners.search.observations import score_of
from runners.search.optuna_sampler import draws
from search_space.overrides import apply, difference

OWN = f"{AT}own"


def tried_arms(experiment: Experiment, ledger: Ledger) -> tuple[Arm, ...]:
    """Return every arm at every point, and write down what that is."""
    if ledger.fact(TUNING) is None:
        ledger.set_fact(TUNING, _what_is_tried(experiment))
    tried = TuningPlan.of(ledger.fact(TUNING))
    points = tuple(zip(tried.points, tried.names, strict=True))
    return tuple(
        _changed(experiment, arm, point, f"{arm.name}{AT}{name}", tuning_trial_of=arm.name)
        for arm in experiment.arms
        for point, name in points
    )


def own_arms(experiment: Experiment, ledger: Ledger) -> tuple[Arm, ...]:
    """Return the arms at their own recipes, those that stay at the shared one left out; choose where that is due.

    None as long as a tuning trial has no result: a failed one is tried again by the next run, and decides then.
    """
    tried = TuningPlan.of(ledger.fact(TUNING))
    if ledger.fact(CHOICES) is None:
        choices = _choices(experiment, ledger, tried)
        if choices is None:
            return ()
        ledger.set_fact(CHOICES, [choice.as_json for choice in choices])
    arms = {arm.name: arm for arm in experiment.arms}
    return tuple(
        _changed(experiment, arms[choice.arm], tried.points[choice.point], choice.own, tuned_from=choice.arm)
        for choice in choices_of(ledger.fact(CHOICES))
        if choice.own != choice.arm
    )


@dataclass(frozen=True)
class Family:
    """Arms that are compared with one baseline and corrected for each other."""

    baseline: str
    arms: frozenset[str]


def families(arms: Mapping[str, Arm], ledger: Ledger) -> Iterator[Family]:
    """Yield the arms at the shared recipe, and where recipes were chosen the arms at their own."""
    yield Family(
        BASELINE,
        frozenset(name for name, arm in arms.items() if arm.tuning_trial_of is None and arm.tuned_from is None),
    )
    own = {choice.arm: choice.own for choice in choices_of(ledger.fact(CHOICES))}
    if own:
        yield Family(own[BASELINE], frozenset(own.values()))


def _what_is_tried(experiment: Experiment) -> dict[str, JsonValue]:
    tune, view = experiment.tune, tuning_view(experiment)
    assert tune is not None
    arms, baseline = experiment.arms, experiment.baseline
    points = points_of(
        tune, baseline, lambda point: impossible_for(arms, point, experiment.constraints) is None, draws
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


def _choices(experiment: Experiment, ledger: Ledger, tried: TuningPlan) -> tuple[Choice, ...] | None:
    """Return every arm's choice, None where a tuning trial has not ended with a result of its own."""
    tune, view = experiment.tune, tuning_view(experiment)
    assert tune is not None
    histories = {one.trial.name: one for one in histories_of(ledger, tried.labels)}
    sizes = [change_size(point, experiment.baseline) for point in tried.points]
    found: list[Choice] = []
    for arm in experiment.arms:
        values: list[float | None] = []
        for name in tried.names:
            trials = [histories[f"{arm.name}{AT}{name}/{seed}"] for seed in tried.seeds]
            if any(trial.status not in (TrialStatus.FINISHED, TrialStatus.DIVERGED) for trial in trials):
                return None
            values.append(mean_over_seeds([_value(view, tried.metric, trial) for trial in trials]))
        point = chosen(values, sizes, tune.larger_is_better)
        found.append(Choice(arm.name, point, tuple(values), f"{arm.name}{OWN}" if point else arm.name))
    return tuple(found)


def _value(view: Experiment, metric: str, history: TrialHistory) -> float | None:
    """Return what decides of one trial, None where it diverged."""
    if history.status is not TrialStatus.FINISHED:
        return None
    if metric == "score":
        return score_of(view, history)
    return final_loss_of(history.finished(PRETRAIN)[-1])
