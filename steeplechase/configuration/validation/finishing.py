"""How many candidates of a search can finish, by its hurdle, cohorts, budget and the size of its space. Pure."""

from collections.abc import Iterator
from math import floor

from search_space.constraints import broken_by
from search_space.overrides import InvalidOverride
from steeplechase.configuration.arm import changed_arm
from steeplechase.configuration.designs import Search
from steeplechase.configuration.designs.axes import grid, grid_size
from steeplechase.configuration.designs.search import EVOLUTIONARY
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds

POINTS_COUNTED = 512
"""Largest grid of which the possible points are counted."""
ROUNDING = 1e-9


def finishing_notes(experiment: Experiment) -> Iterator[str]:
    """Yield the size of a space with fewer points than candidates, and how many of the candidates can finish."""
    design = experiment.search
    if design is None:
        return
    asked, points = asked_candidates(experiment, design), possible_points(experiment, design)
    seeds = len(first_seeds(experiment.pretraining.seeds))
    if points is not None and points * (1 + max(0, (design.max_seeds or seeds) - seeds)) < asked:
        yield points_text(experiment, points, asked)
        asked = points
    most = most_finished(experiment, design)
    if most < asked:
        yield f"at most {most} of {asked} candidates can finish: {_reason(experiment, design)}"


def finishing_warnings(experiment: Experiment) -> Iterator[str]:
    """Yield that no candidate of a search can finish, or that most of them only set the hurdles."""
    design = experiment.search
    if design is None:
        return
    asked, most = asked_candidates(experiment, design), most_finished(experiment, design)
    hurdle = experiment.pretraining.hurdle
    if design.policy is not None:
        if asked and not most:
            yield f"no candidate can finish: {_reason(experiment, design)}. Write a larger design.trainings"
    elif hurdle.kind == "progressive_mean" and most < asked / 2:
        can = f"at most {most} can finish" if most else "none can finish"
        yield (
            f"with {asked} candidates and cohort {design.cohort} the cohorts only set the hurdles: {can}. Write more "
            "max_candidates, a smaller cohort or fewer rungs"
        )


def asked_candidates(experiment: Experiment, design: Search) -> int:
    """Return the number of candidates that are asked for beside the arms of the file, repeats included."""
    return max(0, design.max_candidates - len(experiment.arm_table.arms))


def points_text(experiment: Experiment, points: int, asked: int) -> str:
    """Return that the space has fewer possible points than candidates are asked for."""
    beside = "the baseline" if len(experiment.arm_table.arms) == 1 else "the arms of the file"
    return f"the space has {points} point{'' if points == 1 else 's'} beside {beside}: {points} of {asked} candidates"


def possible_points(experiment: Experiment, design: Search) -> int | None:
    """Return the number of possible points that are no arm of the file; None of programs and of large spaces."""
    if design.structure or grid_size(design.space, experiment.baseline) > POINTS_COUNTED:
        return None
    points = set[str]()
    for changes in grid(design.space, experiment.baseline):
        try:
            arm = changed_arm("", experiment.baseline, changes)
        except InvalidOverride:
            continue
        if broken_by(arm.candidate, experiment.constraints) is None:
            points.add(arm.identity)
    return len(points - {arm.identity for arm in experiment.arm_table.arms})


def most_finished(experiment: Experiment, design: Search) -> int:
    """Return the largest number of candidates that can finish, whatever their values, without ties and divergence."""
    asked, points = asked_candidates(experiment, design), possible_points(experiment, design)
    asked = asked if points is None else min(asked, points)
    if design.policy is not None:
        return _most_under_policy(experiment, design, asked)
    sizes, seeds = _cohorts(experiment, design), len(first_seeds(experiment.pretraining.seeds))
    most = experiment.pretraining.hurdle.most_finished(sizes)
    listed = len(experiment.arm_table.arms) - 1
    return min(asked + listed, sum(min(size, number * seeds) for size, number in zip(sizes, most, strict=True)))


def _cohorts(experiment: Experiment, design: Search) -> list[int]:
    """Return the number of candidates in every cohort; the first has the arms of the file, without the baseline."""
    listed, sizes, left = len(experiment.arm_table.arms), list[int](), design.max_candidates
    while left > 0:
        size = experiment.pretraining.hurdle.cohort_size(len(sizes), design.cohort)
        entered = max(listed, min(left, size)) if not sizes else min(left, size)
        sizes.append(entered - (0 if sizes else 1))
        left -= entered
    return sizes


def _most_under_policy(experiment: Experiment, design: Search, asked: int) -> int:
    """Return how many full trainings the policy's budget has, less what its hurdles or its share of one take."""
    assert design.trainings is not None
    pretraining = experiment.pretraining
    shares = [rung / pretraining.tokens for rung in pretraining.hurdle.rung_tokens]
    left, settings = float(design.trainings), design.tournament
    if design.policy == "progressive_hurdles":
        each = settings.children_per_hurdle or settings.population
        asked -= each * len(shares)
        left -= sum((each - 1) * shares[0] + share for share in shares)
    elif design.policy in EVOLUTIONARY and shares and settings.trained_share <= shares[-1] + ROUNDING:
        return 0
    return max(0, min(asked, floor(left + ROUNDING)))


def _reason(experiment: Experiment, design: Search) -> str:
    hurdle = experiment.pretraining.hurdle
    if design.policy == "progressive_hurdles":
        settings, rungs = design.tournament, len(hurdle.rung_tokens)
        each = settings.children_per_hurdle or settings.population
        return f"{each} children set each of {rungs} hurdles, and the budget has {design.trainings:g} full trainings"
    if design.policy in EVOLUTIONARY and design.tournament.trained_share < 1:
        return f"{design.policy} trains each to a share of {design.tournament.trained_share:g}"
    if design.policy is not None:
        return f"the budget of the policy has {design.trainings:g} full trainings"
    if hurdle.kind == "progressive_mean":
        setting = min(len(hurdle.rung_tokens), len(_cohorts(experiment, design)))
        sizes = sum(_cohorts(experiment, design)[:setting])
        return f"the first {setting} cohorts ({sizes} candidates) set the hurdles, one each"
    return f"hurdle {hurdle.kind}, cohort {design.cohort}"
