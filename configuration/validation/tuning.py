"""What an experiment with `tune:` must satisfy: its fields, its values for every arm, and seeds of its own."""

from collections.abc import Iterator, Mapping
from typing import Any

from configuration.arm import Arm
from configuration.designs.point import ARMS_AT_MOST
from configuration.experiment import Experiment
from configuration.tuning import Range, Tune
from configuration.tuning_points import grid_points, point_count
from foundation.errors import Violation, did_you_mean
from search_space.candidate import Candidate
from search_space.constraints import broken_by, known_paths
from search_space.overrides import InvalidOverride, apply
from search_space.recipe import Recipe

NOT_TUNED: Mapping[str, str] = {
    "token_share": "is what a trial may spend",
    "long_sequence_share": "is what a trial may spend",
    "long_sequence_length": "is what a trial may spend, in other words",
    "noise_seed": "draws other noise and changes nothing else",
    "sequence_length": "is that of the held-out questions, which all arms are asked",
    "device": "says where, not how, a model is trained",
    "precision": "says with which bits, not how, a model is trained",
    "activation_checkpointing": "changes no result",
}
CANDIDATES_AT_MOST = 8 * ARMS_AT_MOST
ROOT = "recipe."


def tune_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield what is wrong, seen from the experiment; the baseline's own rules and the designs' hold already."""
    tune = experiment.tune
    if tune is None:
        return
    if experiment.search is not None:
        message = "a search has no arms before it has run. Did you mean axes of the recipe in design.space?"
        yield Violation(("tune",), message)
        return
    broken = [
        *tune.own_violations(),
        *_field_violations(tune),
        *_spent(experiment, tune),
        *_seed_overlap(experiment, tune),
    ]
    broken = broken or list(_value_violations(tune, experiment.baseline)) or list(_arm_violations(experiment, tune))
    yield from (violation.under("tune") for violation in broken)


def impossible_for(arms: "tuple[Arm, ...]", point: Mapping[str, Any], constraints: tuple[str, ...]) -> str | None:
    """Return which arm cannot have a point and why, None where all can."""
    for arm in arms:
        try:
            reason = broken_by(apply(arm.candidate, point), constraints)
        except InvalidOverride as impossible:
            reason = str(impossible)
        if reason is not None:
            return f"{arm.name} {reason}"
    return None


def _field_violations(tune: Tune) -> Iterator[Violation]:
    fields = [path for path in known_paths() if path.startswith(ROOT) and _leaf(path) not in NOT_TUNED]
    for path in tune.vary:
        leaf = _leaf(path)
        if path.startswith(ROOT) and leaf in NOT_TUNED and leaf in Recipe.model_fields:
            yield Violation(("vary", path), f"{leaf} {NOT_TUNED[leaf]}; allowed: {', '.join(fields)}")
        elif path not in fields:
            hint = did_you_mean(path, fields, ". ", str) or f"; allowed: {', '.join(fields)}"
            yield Violation(("vary", path), f"{path} is no field of the recipe{hint}")


def _spent(experiment: Experiment, tune: Tune) -> Iterator[Violation]:
    whole, least = experiment.pretraining.tokens, experiment.baseline.recipe.tokens_per_step
    if tune.tokens is not None and not least <= tune.tokens <= whole:
        message = f"{tune.tokens} is not from one update, {least}, to pretraining.tokens, {whole}"
        yield Violation(("tokens",), message)
    if tune.metric == "score" and not experiment.fine_tuning.tasks:
        yield Violation(("metric",), "a score needs fine_tuning.tasks. Did you mean held_out_loss?")


def _seed_overlap(experiment: Experiment, tune: Tune) -> Iterator[Violation]:
    seeds = experiment.pretraining.seeds
    taken = seeds if isinstance(seeds, tuple) else tuple(range(1, seeds.until_decided.max + 1))
    both = sorted(set(taken) & set(tune.seeds))
    if both:
        mine, its = (", ".join(map(str, listed)) for listed in (tune.seeds, taken))
        free = [max(*taken, *tune.seeds) + 1 + place for place in range(len(tune.seeds))]
        told = f"{', '.join(map(str, both))} would choose a recipe and judge it"
        message = f"{told}: tuning has seeds {mine}, the comparison {its}. Write {free}"
        yield Violation(("seeds",), message)


def _value_violations(tune: Tune, baseline: Candidate) -> Iterator[Violation]:
    """Yield values that no recipe can have; an axis of an option's field is asked of each option that has it."""
    for path, axis in tune.vary.items():
        values = dict(enumerate(axis)) if isinstance(axis, tuple) else {}
        for position, value in values.items():
            yield from _refused(tune, baseline, path, value, ("vary", path, position))
        if isinstance(axis, Range):
            for end in axis.ends:
                yield from _refused(tune, baseline, path, _whole(end), ("vary", path))


def _refused(
    tune: Tune, baseline: Candidate, path: str, value: Any, place: tuple[str | int, ...]
) -> Iterator[Violation]:
    parents = [other for other in tune.listed if path.startswith(f"{other}.")]
    options = [{parents[0]: option} for option in tune.listed[parents[0]]] if parents else [{}]
    reasons: list[str] = []
    for option in options:
        try:
            apply(baseline, {**option, path: value})
        except InvalidOverride as impossible:
            reasons.append(str(impossible))
    if len(reasons) == len(options):
        yield Violation(place, reasons[0])


def _arm_violations(experiment: Experiment, tune: Tune) -> Iterator[Violation]:
    """Yield arms that are made of what is tuned, and points that an arm cannot have: all arms have the same."""
    arms = experiment.roster.arms
    for path in tune.vary:
        mine = [arm.name for arm in arms if any(_overlap(path, change) for change in arm.changes)]
        if mine:
            message = f"is what {', '.join(mine)} changes; tuned, that arm would be another. Leave one of the two out"
            yield Violation(("vary", path), message)
            return
    count = point_count(tune, experiment.baseline) * len(arms)
    if count > CANDIDATES_AT_MOST:
        message = f"{count:,} candidates, {len(arms)} arms at every point; at most {CANDIDATES_AT_MOST:,} are tried"
        yield Violation(("trials",), message)
        return
    for point in grid_points(tune, experiment.baseline) or ():
        reason = impossible_for(tuple(arms), point, experiment.constraints)
        if reason is not None:
            told = ", ".join(f"{_leaf(path)} {value}" for path, value in point.items())
            yield Violation(("vary",), f"at {told}, {reason}; every arm is tried at the same points")


def _leaf(path: str) -> str:
    return path.rpartition(".")[2]


def _whole(number: float) -> float | int:
    """Return a number as a field that counts would take it."""
    return int(number) if number.is_integer() else number


def _overlap(path: str, change: str) -> bool:
    return path == change or path.startswith(f"{change}.") or change.startswith(f"{path}.")
