"""A plan as plain data, for other programs."""

from collections.abc import Mapping

from runners.cost_estimate.prediction import Prediction
from runners.plan import ArmPlan, Plan
from runners.plan_tuning import TuningCost
from search_space.cost import Convention
from steeplechase.commands.arguments import Chosen
from steeplechase.commands.planning.published import document as published_document
from steeplechase.commands.planning.uses import uses_of
from steeplechase.foundation.schema import JsonValue


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
        "published": published_document(chosen.experiment),
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
