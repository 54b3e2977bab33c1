"""Costs of tuning in `plan`: points, trials, tokens, FLOPs, and the cached share."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from runners.dag import SharedStages, trial_stages
from runners.stages.stage import Stage
from search_space.cost import Convention
from search_space.overrides import apply
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import tuning_view
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.tuning import Point, name_of, points_of
from steeplechase.foundation.canonical import canonical_text
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.phase_plans import CHOICES, TUNING, Choice, TuningPlan, choices_of
from steeplechase.tasks.data_folder import with_paths_as_in

Missing = Callable[[Iterable[Stage]], list[Stage]]
"""Returns the stages without a result."""
UNKNOWN: Point = {"recipe.noise_seed": 1}
"""Placeholder of a recipe that is not chosen yet: its costs are known, its results are never cached."""


@dataclass(frozen=True)
class TuningCost:
    """What tuning costs: points, seeds, trials, tokens and FLOPs, before the comparison begins."""

    points: tuple[str, ...]
    """Names of the points."""
    arms: int
    seeds: tuple[int, ...]
    tokens: int
    """Per trial."""
    train_flops: int
    """Total over all trials."""
    stages: int | None
    """Over all trials; None if they are unknown."""
    cached: int | None
    """Among the stages; None if their keys are unknown."""
    own_arms: int | None
    """Number of arms that are retrained at their own recipe; None before the choice."""
    remaining: tuple[Stage, ...]
    """Stages to compute; an upper bound for arms at their own recipes, which exist only if they differ."""

    @property
    def trials(self) -> int:
        """Trainings of tuning: arms times points times seeds."""
        return self.arms * len(self.points) * len(self.seeds)


Recorded = tuple[TuningPlan, tuple[Choice, ...]]
"""The plan of an existing run, and what it has chosen."""


def plan_tuning_of(
    experiment: Experiment, shared: SharedStages | None, convention: Convention, missing_of: Missing, folder: Path
) -> TuningCost | None:
    """Return the plan of tuning, None without tuning.

    An existing run in the folder has recorded its points and its choice. Raises CorruptionError if its ledger is
    damaged.
    """
    tune, baseline = experiment.tune, experiment.baseline
    if tune is None:
        return None
    view, recorded = tuning_view(experiment), _recorded_tuning(experiment, folder)
    points: tuple[Point, ...] = recorded[0].points if recorded else points_of(tune, baseline)
    own_stages = () if shared is None else _own_stages(experiment, shared, recorded)
    known_stages = [] if shared is None else list(_stages(view, shared, points))
    missing = missing_of(known_stages)
    flops = sum(
        arm.candidate.train_flops(view.pretraining.tokens, baseline.architecture, convention)
        for arm in experiment.arms
    )
    return TuningCost(
        points=tuple(name_of(point, tune, baseline) for point in points),
        arms=len(experiment.arms),
        seeds=tune.seeds,
        tokens=view.pretraining.tokens,
        train_flops=flops * len(points) * len(tune.seeds),
        stages=None if shared is None else len(known_stages),
        cached=None if shared is None else len(known_stages) - len(missing),
        own_arms=sum(choice.point > 0 for choice in recorded[1]) if recorded and recorded[1] else None,
        remaining=(*missing, *missing_of(own_stages)),
    )


def _stages(view: Experiment, shared: SharedStages, points: tuple[Point, ...]) -> Iterator[Stage]:
    for arm in view.arms:
        for point in points:
            for seed in view.pretraining.seeds if isinstance(view.pretraining.seeds, tuple) else ():
                yield from trial_stages(view, shared, apply(arm.candidate, point), seed).values()


def _own_stages(experiment: Experiment, shared: SharedStages, recorded: Recorded | None) -> Iterator[Stage]:
    """Yield the stages of the arms at their own recipes; before the choice, as if all differ from the shared one."""
    tried, chosen = recorded or (None, ())
    choices = {choice.arm: choice.point for choice in chosen}
    for arm in experiment.arms:
        point = tried.points[choices[arm.name]] if tried and choices else UNKNOWN
        for seed in first_seeds(experiment.pretraining.seeds) if point else ():
            yield from trial_stages(experiment, shared, apply(arm.candidate, point), seed).values()


def _recorded_tuning(experiment: Experiment, folder: Path) -> Recorded | None:
    """Return the tuning records of a run of this experiment in the folder, None if there is none."""
    if not (folder / LEDGER_NAME).is_file():
        return None
    with closing(Ledger.at(folder)) as ledger:
        identity = experiment.identity()
        same = canonical_text(with_paths_as_in(ledger.fact("identity"), identity)) == canonical_text(identity)
        tried = ledger.fact(TUNING) if same else None
        return None if tried is None else (TuningPlan.of(tried), choices_of(ledger.fact(CHOICES)))
