"""Warnings about valid settings of an experiment that are probably mistakes. Pure."""

from collections.abc import Iterator

from search_space.recipe import Recipe
from search_space.released.differences import warmup_updates
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.memory import memory_warnings, named
from steeplechase.configuration.validation.search import finishing_warnings
from steeplechase.foundation.devices import Device


def warnings_of(
    experiment: Experiment, machine_memory: int | None = None, card_memory: int | None = None
) -> tuple[str, ...]:
    """Return one line per warning about a valid experiment.

    The memory of the machine, and that of its GPU for arms that are trained there, are in bytes, None if unknown.
    """
    if not experiment.has_trials:
        return ()
    memories: dict[Device, int | None] = {"cpu": machine_memory, "cuda": card_memory}
    memory = [line for device, size in memories.items() if size for line in memory_warnings(experiment, device, size)]
    return (
        *_objective(experiment),
        *_nothing_compared(experiment),
        *_warm_up(experiment),
        *_changes_without_end(experiment),
        *_evaluations(experiment),
        *finishing_warnings(experiment),
        *_written_text(experiment),
        *memory,
    )


def _objective(experiment: Experiment) -> Iterator[str]:
    if experiment.pretrains and "objective" not in experiment.baseline.model_fields_set:
        yield (
            "baseline.objective is missing; the default is replaced_token_detection, with which small models learn "
            "nothing within a few million tokens (docs/laptop_scale.md). Write objective: masked_language_model, or "
            "objective: replaced_token_detection to keep it"
        )


def _nothing_compared(experiment: Experiment) -> Iterator[str]:
    declared = experiment.designs and experiment.search is None and experiment.tune is None
    if declared and len(experiment.arms) == 1:
        yield "design: every arm of it is the baseline itself, so that nothing is compared. Name other values"


def _warm_up(experiment: Experiment) -> Iterator[str]:
    """Yield the arms whose learning rate is still rising when training ends, grouped by both lengths."""
    budgets = {"pretraining": experiment.pretraining.tokens} if experiment.pretrains else {}
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
                f"{named(names, len(experiment.arms))}: the warm-up takes {warmup:,} updates and {stage} has "
                f"{updates:,}, so the peak learning rate is never reached. Write a smaller "
                f"recipe.schedule.warmup_tokens, such as {_tenth(experiment.baseline.recipe, tokens)}"
            )


def _changes_without_end(experiment: Experiment) -> Iterator[str]:
    """Yield the arms whose batches still grow, or whose share of masked tokens still moves, when pretraining ends."""
    if not experiment.pretrains:
        return
    tokens, growing, moving = experiment.pretraining.tokens, [], []
    for arm in experiment.arms:
        recipe, objective = arm.candidate.recipe, arm.candidate.objective
        if recipe.phases[-1].first_update >= recipe.steps(tokens):
            growing.append(arm.name)
        if objective.at(recipe.own_tokens(tokens)) != objective.settled:
            moving.append(arm.name)
    if growing:
        yield (
            f"{named(growing, len(experiment.arms))}: batches grow until pretraining ends, so that none has "
            f"batch_sequences. Write a smaller recipe.batch_warm_up.tokens, such as {tokens // 10}"
        )
    if moving:
        yield (
            f"{named(moving, len(experiment.arms))}: the share of masked tokens moves beyond the end of pretraining, "
            f"so that it never is mask_rate. Write at most {tokens} in objective.mask_rate_schedule.tokens"
        )


def _evaluations(experiment: Experiment) -> Iterator[str]:
    points = experiment.pretraining.evaluations
    updates = experiment.baseline.recipe.steps(experiment.pretraining.tokens)
    if points > updates > 0:
        yield (
            f"pretraining.evaluations is {points:,}, but pretraining has {updates:,} updates: the held-out curve has "
            "one point per update"
        )


def _written_text(experiment: Experiment) -> Iterator[str]:
    """Yield the tasks whose targets have case and accents, where the tokenizer drops them."""
    tuning = experiment.fine_tuning
    names = [name for name in tuning.tasks if tuning.find(name).form == "text_pair"]
    if names and experiment.tokenizer.lowercases:
        yield (
            f"fine_tuning.tasks: the targets of {', '.join(names)} have case and accents, which tokenizer "
            f"{experiment.tokenizer.kind} drops, so that no model can write them (a perfect German translation of "
            "Multi30k scores 20 BLEU). Write tokenizer: { kind: byte_bpe }"
        )


def _tenth(recipe: Recipe, tokens: int) -> int:
    """Return a tenth of the updates, at least one, in tokens."""
    return recipe.tokens_after(max(1, recipe.steps(tokens) // 10))
