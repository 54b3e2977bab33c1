"""What tuning will cost, as `plan` tells it: points, trials, tokens, FLOPs, and what of it is in the cache."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from runners.experiment import Experiment
from runners.itinerary import SharedStages, trial_stages
from runners.sequential import first_seeds
from runners.stages.stage import Stage
from runners.tuning.points import Point, grid_points, name_of, point_count
from runners.tuning.view import tuning_view
from search_space.change import apply
from search_space.declaration import JsonValue
from search_space.operations import Convention

Kept = Callable[[Stage], bool]


@dataclass(frozen=True)
class TuningPlan:
    """Tuning before it has run. What is to be drawn is drawn by `run`, and counts as the shared recipe until then."""

    points: tuple[str, ...]
    """Names of the points that are known; the shared recipe alone where the others will be drawn."""
    count: int
    """Points that every arm is tried at."""
    sampler: str
    arms: int
    seeds: tuple[int, ...]
    tokens: int
    """Of a trial."""
    train_flops: int
    """Of all trials."""
    stages: int
    cached: int | None
    """Of the stages whose points are known; None where the keys cannot be known."""
    ahead: tuple[Stage, ...]
    """What is to be computed; at most, for the arms at their own recipes, which are arms only where they differ."""

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return self.arms * self.count * len(self.seeds)


def plan_tuning_of(
    experiment: Experiment, shared: SharedStages | None, convention: Convention, kept: Kept
) -> TuningPlan | None:
    """Return what tuning asks for, None where nothing is tuned."""
    tune, baseline = experiment.tune, experiment.baseline
    if tune is None:
        return None
    view, whole = tuning_view(experiment), grid_points(tune, baseline)
    points: tuple[Point, ...] = ({},) if whole is None else whole
    count = point_count(tune, baseline)
    known = [] if shared is None else list(_stages(view, shared, points))
    left = [stage for stage in known if not kept(stage)]
    drawn = [] if shared is None else list(_stages(view, shared, ({},))) * (count - len(points))
    flops = sum(
        arm.candidate.train_flops(view.pretraining.tokens, baseline.architecture, convention)
        for arm in experiment.arms
    )
    per_trial = 1 + len(view.fine_tuning.tasks) * len(view.fine_tuning.seeds)
    return TuningPlan(
        points=tuple(name_of(point, tune, baseline) for point in points),
        count=count,
        sampler=tune.sampler if whole is None else "grid",
        arms=len(experiment.arms),
        seeds=tune.seeds,
        tokens=view.pretraining.tokens,
        train_flops=flops * count * len(tune.seeds),
        stages=per_trial * len(experiment.arms) * count * len(tune.seeds),
        cached=None if shared is None else len(known) - len(left),
        ahead=(*left, *drawn, *(() if shared is None else _own_stages(experiment, shared))),
    )


def _stages(view: Experiment, shared: SharedStages, points: tuple[Point, ...]) -> Iterator[Stage]:
    for arm in view.arms:
        for point in points:
            for seed in view.pretraining.seeds if isinstance(view.pretraining.seeds, tuple) else ():
                yield from trial_stages(view, shared, apply(arm.candidate, point), seed).values()


def _own_stages(experiment: Experiment, shared: SharedStages) -> Iterator[Stage]:
    """Yield the stages of all arms at their own recipes, which cost what those at the shared one do."""
    for arm in experiment.arms:
        for seed in first_seeds(experiment.pretraining.seeds):
            yield from trial_stages(experiment, shared, arm.candidate, seed).values()


def tuning_lines(plan: TuningPlan) -> Iterator[str]:
    """Yield what a reader of the plan has to know of tuning."""
    others = (
        f"{', '.join(plan.points)}"
        if plan.sampler == "grid"
        else f"shared, and {plan.count - 1} drawn by {plan.sampler}"
    )
    yield f"tuning first: every arm at the same {plan.count} recipes ({others})"
    seeds = ", ".join(map(str, plan.seeds))
    flops = f"{plan.train_flops:.2e}".replace("e+", "e")
    trials = f"{plan.arms} arms x {plan.count} points x {len(plan.seeds)} seeds ({seeds}) = {plan.trials} trials"
    yield f"it costs {trials} of {plan.tokens:,} tokens: {plan.trials * plan.tokens:,} tokens, {flops} FLOPs"
    yield f"after it at most {plan.arms} arms more, each at its own recipe"


def tuning_document(plan: TuningPlan) -> JsonValue:
    """Return the plan of tuning as plain data."""
    return {
        "points": [*plan.points],
        "points_per_arm": plan.count,
        "sampler": plan.sampler,
        "seeds": [*plan.seeds],
        "trials": plan.trials,
        "tokens_per_trial": plan.tokens,
        "train_flops": plan.train_flops,
        "stages": plan.stages,
        "cached": plan.cached,
        "arms_at_own_recipe_at_most": plan.arms,
    }
