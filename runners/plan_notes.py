"""Notes of a plan: tasks below a reference so far, what the end of a search will cost, and the costs of tuning."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runners.dag import SharedStages, trial_stages
from runners.stages.stage import Stage
from search_space.cost import Convention
from search_space.overrides import apply
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import final_settings, most_ablation_arms, tuning_view
from steeplechase.configuration.fine_tuning_runs import fine_tuning_runs
from steeplechase.configuration.metrics import SCORE, objectives_in_effect
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.tuning import Point, name_of, points_of
from steeplechase.configuration.validation.search import asked_candidates, possible_points
from steeplechase.foundation.canonical import canonical_text
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.phase_plans import CHOICES, TUNING, Choice, TuningPlan, choices_of
from steeplechase.tasks.data_folder import with_paths_as_in

if TYPE_CHECKING:
    from steeplechase.ledger.task_standing import TaskStanding


def reference_notes(experiment: Experiment, known: "Mapping[str, TaskStanding]") -> Iterator[str]:
    """Yield on which tasks no verdict rests by what is known of them, and of which nothing is known yet."""
    tasks = experiment.fine_tuning.tasks if experiment.has_trials else ()
    for task, standing in known.items():
        if standing.below:
            yield (
                f"{task}: no verdict rests on it by the results so far: the mean over all arms, {standing.mean:.1f}, "
                f"does not significantly exceed {standing.missed_text}"
            )
    if unknown := [task for task in tasks if task not in known]:
        yield (
            f"{', '.join(unknown)}: a verdict rests on a task only where the mean over all arms exceeds each of its "
            "references, which is known once arms are fine-tuned"
        )


def standings_in(experiment: Experiment, places: ResultPaths) -> "Mapping[str, TaskStanding]":
    """Return the standings with a spread to test with, of the tasks that a results folder has values of."""
    if not (places.folder / LEDGER_NAME).is_file():
        return {}
    from steeplechase.ledger.snapshot import snapshot
    from steeplechase.ledger.task_standing import task_standings

    with closing(Ledger.at(places.folder)) as ledger:
        if ledger.fact("identity") is None:
            return {}
        found = task_standings(snapshot(ledger), experiment.fine_tuning.tasks, experiment.fine_tuning.primary_metric)
    return {task: standing for task, standing in found.items() if standing.known}


def most_finalists(experiment: Experiment) -> int:
    """Return the largest number of finalists: those that are asked for, or the candidates where there are fewer."""
    search = experiment.search
    if search is None or search.finalists is None:
        return 0
    asked, points = asked_candidates(experiment, search), possible_points(experiment, search)
    listed = len(experiment.arm_table.arms) - 1
    return min(search.finalists.count, listed + (asked if points is None else min(asked, points)))


def final_notes(experiment: Experiment) -> Iterator[str]:
    """Yield which trainings follow a search."""
    search = experiment.search
    if search is None or search.finalists is None:
        return
    count, ablated, seeds = most_finalists(experiment), most_ablation_arms(search), search.finalists.seeds
    asked = search.finalists.count
    fewer = f" (of {asked} asked for; there can be no more candidates)" if count < asked else ""
    arms = f"{count} finalist{'s' if count > 1 else ''}{fewer} and the baseline"
    if ablated:
        arms += f", then at most {ablated} arms that ablate the winner ({search.ablate_winner})"
    elif search.ablate_winner is not None:
        arms += ", with nothing to ablate since one axis varies"
    trainings = (count + 1 + ablated) * seeds
    yield f"then {arms}, at {seeds} seeds that it has not used: {trainings} full trainings at most"


def score_notes(experiment: Experiment) -> Iterator[str]:
    """Yield that a search by score or by a probe goes by tasks above their references alone, and what else by."""
    search, probe = experiment.search, experiment.pretraining.hurdle.rung_probe
    if search is not None and SCORE in search.objectives:
        instead = objectives_in_effect(search.objectives, (), experiment.pretraining.losses_compare)
        without = f"goes by {' and '.join(instead)}" if instead else "draws uniformly and has no finalists"
        yield f"the score counts only tasks above their references; while there is none, the search {without}"
        if len(experiment.fine_tuning.untrained_seeds) < 2 and len(first_seeds(experiment.pretraining.seeds)) < 2:
            yield (
                "with one seed and fewer than two untrained encoders no task can be tested against its references, "
                "and every task counts. Write fine_tuning.untrained_seeds: [1, 2]"
            )
    if search is not None and probe is not None:
        yield (
            f"hurdles by {probe.task} stop a trial only by a threshold above its references; otherwise every "
            "candidate that has set no hurdle is trained to the end"
        )


def final_stages(experiment: Experiment, shared: SharedStages) -> Iterator[Stage]:
    """Yield the stages of the final comparison, as many as there can be, each arm at the baseline's size."""
    search = experiment.search
    if search is None or search.finalists is None:
        return
    settings, first = final_settings(experiment), max(first_seeds(experiment.pretraining.seeds)) + 1
    for seed in range(first, first + search.finalists.seeds):
        stages = [*shared.of_trial(settings, experiment.baseline, seed).values()]
        yield from stages * (most_finalists(experiment) + 1 + most_ablation_arms(search))


Missing = Callable[[Iterable[Stage]], list[Stage]]
"""Returns the stages without a result."""
UNKNOWN: Point = {"recipe.noise_seed": 1}
"""Placeholder of a recipe that is not chosen yet: its costs are known, its results are never cached."""


@dataclass(frozen=True)
class TuningCost:
    """Plan of tuning."""

    points: tuple[str, ...]
    """Names of the points."""
    arms: int
    seeds: tuple[int, ...]
    tokens: int
    """Per trial."""
    train_flops: int
    """Total over all trials."""
    stages: int
    cached: int | None
    """Among the stages; None if their keys are unknown."""
    own_arms: int | None
    """Number of arms that are retrained at their own recipe; None before the choice."""
    remaining: tuple[Stage, ...]
    """Stages to compute; an upper bound for arms at their own recipes, which exist only if they differ."""

    @property
    def trials(self) -> int:
        """Number of trials."""
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
    per_trial = 1 + len(fine_tuning_runs(view.fine_tuning))
    return TuningCost(
        points=tuple(name_of(point, tune, baseline) for point in points),
        arms=len(experiment.arms),
        seeds=tune.seeds,
        tokens=view.pretraining.tokens,
        train_flops=flops * len(points) * len(tune.seeds),
        stages=per_trial * len(experiment.arms) * len(points) * len(tune.seeds),
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
