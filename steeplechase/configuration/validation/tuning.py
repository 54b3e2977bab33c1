"""Validation rules of `tune`: recipe fields, values that every arm can have, budget, and separate seeds."""

from collections.abc import Iterator, Mapping
from typing import Any

from search_space.candidate import Candidate
from search_space.constraints import broken_by, known_paths
from search_space.overrides import InvalidOverride, apply
from search_space.recipe import Recipe
from steeplechase.configuration.arm import Arm
from steeplechase.configuration.designs.axes import grid_size
from steeplechase.configuration.designs.point import ARMS_AT_MOST
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.tuning import Tune, points_of
from steeplechase.foundation.errors import Violation, did_you_mean

NOT_TUNED: Mapping[str, str] = {
    "token_share": "changes the training budget",
    "long_sequence_share": "changes the training budget",
    "long_sequence_length": "changes the training budget",
    "noise_seed": "is a seed, not a hyperparameter",
    "sequence_length": "must equal that of the evaluation set, which all arms share",
    "device": "selects hardware, not a hyperparameter",
    "deterministic": "selects kernels of the same operators, not a hyperparameter",
    "compile": "selects kernels of the same operators, not a hyperparameter",
    "precision": "selects the arithmetic, not a hyperparameter",
    "activation_checkpointing": "changes no result",
    "pruning": "changes the model and the training budget",
    "micro_batches": "divides a batch for its memory, not a hyperparameter",
    "processes": "divides a batch between processes, not a hyperparameter",
}
CANDIDATES_AT_MOST = 8 * ARMS_AT_MOST
ROOT = "recipe."


def tune_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the violations of `tune`; the baseline and the designs are valid already."""
    tune = experiment.tune
    if tune is None:
        return
    if experiment.search is not None:
        message = (
            "tuning needs declared arms; a search proposes its own. Did you mean axes of the recipe in design.space?"
        )
        yield Violation(("tune",), message)
        return
    violations = [
        *tune.own_violations(),
        *_field_violations(tune),
        *_budget_violations(experiment, tune),
        *_seed_overlap(experiment, tune),
    ]
    violations = (
        violations or list(_value_violations(tune, experiment.baseline)) or list(_arm_violations(experiment, tune))
    )
    yield from (violation.under("tune") for violation in violations)


def impossible_arm(arms: "tuple[Arm, ...]", point: Mapping[str, Any], constraints: tuple[str, ...]) -> str | None:
    """Return the first arm for which a point is impossible, with the reason; None if there is none."""
    for arm in arms:
        try:
            reason = broken_by(apply(arm.candidate, point), constraints)
        except InvalidOverride as impossible:
            reason = str(impossible)
        if reason is not None:
            return f"{arm.name} {reason}"
    return None


def _field_violations(tune: Tune) -> Iterator[Violation]:
    fields = [path for path in known_paths() if path.startswith(ROOT) and _field(path) not in NOT_TUNED]
    for path in tune.vary:
        field = _field(path)
        if path.startswith(ROOT) and field in NOT_TUNED and field in Recipe.model_fields:
            yield Violation(("vary", path), f"{field} {NOT_TUNED[field]}; allowed: {', '.join(fields)}")
        elif path not in fields:
            hint = did_you_mean(path, fields, ". ", str) or f"; allowed: {', '.join(fields)}"
            yield Violation(("vary", path), f"{path} is not a field of the recipe{hint}")


def _budget_violations(experiment: Experiment, tune: Tune) -> Iterator[Violation]:
    most, least = experiment.pretraining.tokens, experiment.baseline.recipe.tokens_after(1)
    if tune.tokens is not None and not least <= tune.tokens <= most:
        message = f"{tune.tokens} is out of range; allowed: one update, {least}, to pretraining.tokens, {most}"
        yield Violation(("tokens",), message)
    if tune.metric == "score" and not experiment.fine_tuning.tasks:
        yield Violation(("metric",), "a score needs fine_tuning.tasks. Did you mean held_out_loss?")


def _seed_overlap(experiment: Experiment, tune: Tune) -> Iterator[Violation]:
    seeds = experiment.pretraining.seeds
    taken = seeds if isinstance(seeds, tuple) else tuple(range(1, seeds.until_decided.max + 1))
    shared = sorted(set(taken) & set(tune.seeds))
    if shared:
        of_tuning, of_comparison = (", ".join(map(str, listed)) for listed in (tune.seeds, taken))
        free = [max(*taken, *tune.seeds) + offset for offset in range(1, len(tune.seeds) + 1)]
        reason = f"{', '.join(map(str, shared))} would both select and evaluate a recipe"
        message = f"{reason}: tuning has seeds {of_tuning}, the comparison {of_comparison}. Write {free}"
        yield Violation(("seeds",), message)


def _value_violations(tune: Tune, baseline: Candidate) -> Iterator[Violation]:
    """Yield values that no recipe can have; a field of an option is checked with every option on its axis."""
    for path, axis in tune.vary.items():
        for position, value in enumerate(axis):
            yield from _value_violations_at(tune, baseline, path, value, ("vary", path, position))


def _value_violations_at(
    tune: Tune, baseline: Candidate, path: str, value: Any, location: tuple[str | int, ...]
) -> Iterator[Violation]:
    parents = [other for other in tune.vary if path.startswith(f"{other}.")]
    options = [{parents[0]: option} for option in tune.vary[parents[0]]] if parents else [{}]
    reasons: list[str] = []
    for option in options:
        try:
            apply(baseline, {**option, path: value})
        except InvalidOverride as impossible:
            reasons.append(str(impossible))
    if len(reasons) == len(options):
        yield Violation(location, reasons[0])


def _arm_violations(experiment: Experiment, tune: Tune) -> Iterator[Violation]:
    """Yield arms that change a tuned field, and points that are impossible for an arm: all arms share the points."""
    arms = experiment.arm_table.arms
    for path in tune.vary:
        changing = [arm.name for arm in arms if any(_overlap(path, change) for change in arm.changes)]
        if changing:
            message = f"is the field that {', '.join(changing)} changes; tuning would undo it. Remove one of the two"
            yield Violation(("vary", path), message)
            return
    combinations = grid_size(tune.vary, experiment.baseline)  # counted before they are made
    points = points_of(tune, experiment.baseline) if combinations <= tune.trials else ()
    count = len(points) or combinations
    if count > tune.trials:
        message = f"{tune.trials} is below the {count:,} points that the values of vary make with the shared recipe"
        yield Violation(("trials",), f"{message}; list fewer values, or write trials: {count}")
        return
    if count * len(arms) > CANDIDATES_AT_MOST:
        message = f"{count * len(arms):,} candidates, {len(arms)} arms at every point"
        yield Violation(("trials",), f"{message}; at most {CANDIDATES_AT_MOST:,} are tried")
        return
    for point in points:
        reason = impossible_arm(tuple(arms), point, experiment.constraints)
        if reason is not None:
            values = ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in point.items())
            yield Violation(("vary",), f"at {values}, {reason}; every arm is tried at the same points")


def _field(path: str) -> str:
    """Return the field of the recipe that a path is, or is inside of."""
    return path.removeprefix(ROOT).partition(".")[0]


def _overlap(path: str, change: str) -> bool:
    return path == change or path.startswith(f"{change}.") or change.startswith(f"{path}.")
