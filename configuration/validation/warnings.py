"""Warnings about valid settings of an experiment that are probably mistakes. Pure."""

from collections.abc import Iterator

from configuration.experiment import Experiment
from search_space.recipe import Recipe
from search_space.released.differences import warmup_updates

ARMS_NAMED = 4


def warnings_of(experiment: Experiment) -> tuple[str, ...]:
    """Return one line per warning about a valid experiment."""
    return (*_objective(experiment), *_warm_up(experiment), *_evaluations(experiment))


def _objective(experiment: Experiment) -> Iterator[str]:
    if "objective" not in experiment.baseline.model_fields_set:
        yield (
            "baseline.objective is missing; the default is replaced_token_detection, with which small models learn "
            "nothing within a few million tokens (docs/laptop_scale.md). Write objective: masked_language_model, or "
            "objective: replaced_token_detection to keep it"
        )


def _warm_up(experiment: Experiment) -> Iterator[str]:
    """Yield the arms whose learning rate is still rising when training ends, grouped by both lengths."""
    budgets = {"pretraining": experiment.pretraining.tokens}
    if experiment.tune is not None and experiment.tune.tokens is not None:
        budgets["tuning"] = experiment.tune.tokens
    for stage, tokens in budgets.items():
        arms_by_lengths: dict[tuple[int, int], list[str]] = {}
        for arm in experiment.arms:
            warmup, updates = warmup_updates(arm.candidate.recipe), arm.candidate.recipe.steps(tokens)
            if warmup >= updates:
                arms_by_lengths.setdefault((warmup, updates), []).append(arm.name)
        for (warmup, updates), names in arms_by_lengths.items():
            yield (
                f"{_named(names, len(experiment.arms))}: the warm-up takes {warmup:,} updates and {stage} has "
                f"{updates:,}, so the peak learning rate is never reached. Write a smaller "
                f"recipe.schedule.warmup_tokens, such as {_tenth(experiment.baseline.recipe, tokens)}"
            )


def _evaluations(experiment: Experiment) -> Iterator[str]:
    points = experiment.pretraining.evaluations
    updates = experiment.baseline.recipe.steps(experiment.pretraining.tokens)
    if points > updates:
        yield (
            f"pretraining.evaluations is {points:,}, but pretraining has {updates:,} updates: the held-out curve has "
            "one point per update"
        )


def _tenth(recipe: Recipe, tokens: int) -> int:
    """Return a tenth of the updates, at least one, in tokens."""
    return max(1, recipe.steps(tokens) // 10) * recipe.tokens_per_step


def _named(names: list[str], among: int) -> str:
    if len(names) == among:
        return "every arm"
    more = f" and {len(names) - ARMS_NAMED} more" if len(names) > ARMS_NAMED else ""
    return f"{', '.join(names[:ARMS_NAMED])}{more}"
