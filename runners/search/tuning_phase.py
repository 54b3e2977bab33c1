"""The tuning phase: tuning trials of every arm, and each arm's selected recipe.

The plan and the choices are write-once facts in the ledger. Pure: nothing is written here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from runners.stage_labels import fine_tune_labels, pretrain_labels
from search_space.overrides import apply, difference
from steeplechase.configuration.arm import BASELINE, Arm
from steeplechase.configuration.designs.point import level
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import tuning_view
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.configuration.tuning import AT, Point, change_size, name_of, points_of, value_at
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.phase_plans import CHOICES, TUNING, Choice, TuningPlan, choices_of, chosen, mean_over_seeds
from steeplechase.ledger.records import TrialStatus, final_loss_of
from steeplechase.ledger.trial_history import KnownRows, TrialHistory, histories_of, score_of

OWN = f"{AT}own"


def tuning_arms(experiment: Experiment, rows: KnownRows) -> tuple[Arm, ...]:
    """Return every arm at every point of the fact TUNING, which must exist."""
    plan = TuningPlan.of(rows.fact(TUNING))
    points = tuple(zip(plan.points, plan.names, strict=True))
    return tuple(
        _changed(experiment, arm, point, f"{arm.name}{AT}{name}", tuning_trial_of=arm.name)
        for arm in experiment.arms
        for point, name in points
    )


def own_arms(experiment: Experiment, rows: KnownRows) -> tuple[Arm, ...]:
    """Return the arms at their own recipes, from the fact CHOICES, without those that keep the shared recipe."""
    plan = TuningPlan.of(rows.fact(TUNING))
    arms = {arm.name: arm for arm in experiment.arms}
    return tuple(
        _changed(experiment, arms[choice.arm], plan.points[choice.point], choice.own, tuned_from=choice.arm)
        for choice in choices_of(rows.fact(CHOICES))
        if choice.own != choice.arm
    )


@dataclass(frozen=True)
class Family:
    """Arms that are compared with one baseline, with a joint correction for multiple comparisons."""

    baseline: str
    arms: frozenset[str]


def families(rows: KnownRows) -> Iterator[Family]:
    """Yield the arms at the shared recipe and, once recipes are selected, the arms at their own."""
    yield Family(
        BASELINE,
        frozenset(arm.name for arm in rows.arms() if not (arm.tuning_trial_of or arm.tuned_from or arm.final_of)),
    )
    own = {choice.arm: choice.own for choice in choices_of(rows.fact(CHOICES))}
    if own:
        yield Family(own[BASELINE], frozenset(own.values()))


def tuning_plan(experiment: Experiment) -> dict[str, JsonValue]:
    """Return the tuning plan for the fact TUNING: the points of every arm."""
    tune, view, baseline = experiment.tune, tuning_view(experiment), experiment.baseline
    assert tune is not None
    points = points_of(tune, baseline)
    return {
        "points": [{**point} for point in points],
        "names": [name_of(point, tune, baseline) for point in points],
        "shared": {path: level(value_at(baseline, path)) for path in tune.vary},
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


def choices(experiment: Experiment, rows: KnownRows) -> list[JsonValue] | None:
    """Return every arm's choice for the fact CHOICES; None if a tuning trial has neither finished nor diverged.

    A failed trial is retried by the next run, and its result is part of the choice.
    """
    tune, view, plan = experiment.tune, tuning_view(experiment), TuningPlan.of(rows.fact(TUNING))
    assert tune is not None
    histories = {history.trial.name: history for history in histories_of(rows, plan.labels)}
    sizes = [change_size(point, experiment.baseline) for point in plan.points]
    documents: list[JsonValue] = []
    for arm in experiment.arms:
        values: list[float | None] = []
        for name in plan.names:
            trials = [histories[f"{arm.name}{AT}{name}/{seed}"] for seed in plan.seeds]
            if any(trial.status not in (TrialStatus.FINISHED, TrialStatus.DIVERGED) for trial in trials):
                return None
            values.append(mean_over_seeds([_value(view, plan.metric, trial) for trial in trials]))
        point = chosen(values, sizes, tune.larger_is_better)
        own = f"{arm.name}{OWN}" if point else arm.name
        documents.append(Choice(arm=arm.name, point=point, values=tuple(values), own=own).model_dump(mode="json"))
    return documents


def _value(view: Experiment, metric: str, history: TrialHistory) -> float | None:
    """Return a trial's value of the tuning metric, None if it diverged."""
    if history.status is not TrialStatus.FINISHED:
        return None
    if metric == "score":
        return score_of(history.records, fine_tune_labels(view))
    return final_loss_of(history.finished(PRETRAIN)[-1])
