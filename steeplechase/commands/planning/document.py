"""A plan as plain data for other programs, and what each of its arms is for."""

from collections.abc import Iterator, Mapping

from reports.statistics.isolated_pairs import isolated_pairs
from runners.cost_estimate.prediction import Prediction
from runners.plan import ArmPlan, Plan
from runners.plan_tuning import TuningCost
from search_space.cost import Convention
from steeplechase.commands.arguments import Chosen
from steeplechase.commands.planning.costs import gpu_document, timed_document
from steeplechase.commands.planning.published import document as published_document
from steeplechase.configuration.arm import BASELINE, Arm
from steeplechase.configuration.claims import parse_orderings
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE
from steeplechase.foundation.schema import JsonValue

METRIC, TUNED, MATCHED, COMPARISON, CLAIM = (
    "metric",
    "tuned metric",
    "matched metric",
    "one-change comparison",
    "claim",
)
PAIRS_AMONG_AT_MOST = 128
"""Maximum number of arms for the search of pairs, which is quadratic."""
Uses = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By arm and kind of use."""


def uses_of(experiment: Experiment) -> Uses:
    """Return the uses of every arm; none without trials."""
    if not experiment.has_trials:
        return {arm.name: {} for arm in experiment.arms}
    tasks = tuple(sorted(experiment.fine_tuning.tasks))
    metrics = (HELD_OUT_LOSS, *tasks, *([SCORE] if len(tasks) > 1 else []))
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for arm in experiment.arms:
        found[arm.name] = {METRIC: metrics}
        if experiment.tune is not None and arm.name != BASELINE:
            found[arm.name][TUNED] = metrics
    for arm in experiment.arms:
        for name in (arm.name, arm.matched_arm) if arm.matched_arm is not None else ():
            found[name][MATCHED] = metrics
    for name, pairs in _pairs(experiment.arms).items():
        found[name][COMPARISON] = pairs
    for name, text in _claimed(experiment):
        found[name][CLAIM] = (*found[name].get(CLAIM, ()), text)
    return found


def _claimed(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield each arm of a claim or an ordering, with its text."""
    for claim in experiment.claims:
        yield from ((name, str(claim)) for name in claim.arms)
    for chain in experiment.paper.orderings if experiment.paper else ():
        for ordering in parse_orderings(chain):
            yield from ((name, str(ordering)) for name in (ordering.first, ordering.second))


def _pairs(arms: tuple[Arm, ...]) -> dict[str, tuple[str, ...]]:
    if len(arms) > PAIRS_AMONG_AT_MOST:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for pair in isolated_pairs(arms, arms[0].candidate):
        for name in (pair.arm, pair.reference):
            found[name] = (*found.get(name, ()), f"{pair.arm} − {pair.reference}")
    return found


def plan_document(chosen: Chosen, plan: Plan, convention: Convention) -> dict[str, JsonValue]:
    """Return the plan as plain data for other programs."""
    prediction, uses = plan.prediction, uses_of(chosen.experiment)
    seeds, tuning_seeds = plan.values_per_cell
    return {
        "experiment": chosen.experiment.experiment,
        "scale": chosen.scale,
        "scales": [*chosen.scales],
        "flops_convention": convention.name,
        "arms": [_arm_document(arm, uses[arm.arm.name]) for arm in plan.arms],
        "values_per_cell": {"pretraining_seeds": seeds, "fine_tuning_seeds": tuning_seeds},
        "shared": {"stages": plan.shared_stages, "cached": plan.shared_cached},
        "prediction": None if prediction is None else _prediction_document(prediction),
        "unknown": plan.unknown or None,
        "aliases": {**plan.aliases},
        "impossible": [{"name": name, "reasons": [*reasons]} for name, *reasons in plan.impossible],
        "notes": [*plan.notes],
        "warnings": [*plan.warnings],
        "growth": [*plan.growth],
        **({} if plan.tuning is None else {"tuning": _tuning(plan.tuning)}),
        **gpu_document(chosen.experiment, plan),
        "published": published_document(chosen.experiment),
        **timed_document(chosen.experiment, convention),
    }


def _arm_document(plan: ArmPlan, uses: Mapping[str, tuple[str, ...]]) -> JsonValue:
    return {
        "name": plan.arm.name,
        "changes": {**plan.arm.changes},
        "levels": {**plan.arm.levels},
        "matches": plan.arm.matches,
        "matched_arm": plan.arm.matched_arm,
        "matched_spend": plan.arm.matched_spend,
        "parameters": plan.parameters,
        "forward_flops": plan.forward_flops,
        "train_flops": plan.train_flops,
        "uses": {use: [*each] for use, each in uses.items()},
        "stages": plan.stages,
        "cached": plan.cached,
    }


def _prediction_document(prediction: Prediction) -> JsonValue:
    ranges = {"seconds": prediction.seconds, "bytes": prediction.bytes}
    amounts: dict[str, JsonValue] = {
        name: None if one is None else {"middle": one.middle, "low": one.low, "high": one.high}
        for name, one in ranges.items()
    }
    return {
        **amounts,
        "start_seconds": prediction.start_seconds,
        "measured_stages": prediction.measured,
        "never_measured": [*prediction.never_measured],
    }


def _tuning(plan: TuningCost) -> JsonValue:
    return {
        "points": [*plan.points],
        "points_per_arm": len(plan.points),
        "seeds": [*plan.seeds],
        "trials": plan.trials,
        "tokens_per_trial": plan.tokens,
        "train_flops": plan.train_flops,
        "stages": plan.stages,
        "cached": plan.cached,
        "arms_at_own_recipe_at_most": plan.arms if plan.own_arms is None else plan.own_arms,
    }
