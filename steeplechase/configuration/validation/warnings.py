"""Warnings about valid settings of an experiment that are probably mistakes. Pure.

The memory of an arm has a lower bound in closed form. On a GPU a stage that runs out goes on once with twice the
micro-batches, so an arm that fits then is warned of, and one that does not is refused before the first stage.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

from search_space.activation_memory import VALUE_BYTES, activation_memory
from search_space.candidate import Candidate
from search_space.overrides import absolute_path
from search_space.recipe import Recipe
from search_space.released.differences import updates_text, warmup_updates
from steeplechase.configuration.arm import replaced_parts
from steeplechase.configuration.designs.components import ComponentDesign, ListDesign
from steeplechase.configuration.designs.factorial import Factorial, Zip
from steeplechase.configuration.designs.point import Changes, label
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.tuning import points_of
from steeplechase.configuration.validation.arm_names import named
from steeplechase.configuration.validation.search import finishing_warnings
from steeplechase.configuration.validation.unread import unread_pairs, unread_texts
from steeplechase.foundation.devices import Device, is_gpu

MISSING = object()


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
        *_replaced_parts(experiment),
        *_replaced_fields(experiment),
        *_warm_up(experiment),
        *_changes_without_end(experiment),
        *_evaluations(experiment),
        *finishing_warnings(experiment),
        *_written_text(experiment),
        *unread_texts(experiment),
        *unread_pairs(experiment),
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
    if experiment.tune is not None and len(points_of(experiment.tune, experiment.baseline)) == 1:
        yield "tune.vary: its values make the shared recipe alone, so that nothing is chosen. Name other values"


def _replaced_parts(experiment: Experiment) -> Iterator[str]:
    """Yield a line per change that replaces a whole part: what it leaves out has its default, not the baseline's."""
    for name, changes in _named_changes(experiment):
        yield from (f"{name}: {line}" for line in replaced_parts(experiment.baseline, changes))


def _named_changes(experiment: Experiment) -> Iterator[tuple[str, Changes]]:
    """Yield the changes of each arm of a list, then those of each component, with its name."""
    for design in experiment.designs:
        if isinstance(design, ListDesign):
            yield from design.arms.items()
    for design in experiment.designs:
        if isinstance(design, ComponentDesign):
            yield from design.components.items()


def _replaced_fields(experiment: Experiment) -> Iterator[str]:
    """Yield a line per field that an option has a value for and a path beside it another one, which is taken."""
    for where, axes in _applied_together(experiment):
        for path, other in permutations(axes, 2):
            owner, field = absolute_path(other), absolute_path(path)
            for option in axes[other] if field[:-1] == owner else ():
                written = option.get(field[-1], MISSING) if isinstance(option, Mapping) else MISSING
                if written is not MISSING and [*axes[path]] != [written]:
                    taken = " or ".join(map(label, axes[path]))
                    yield (
                        f"{where}: {path} {taken} replaces the {field[-1]} of {other} {label(option)}. "
                        f"Leave {field[-1]} out of the option"
                    )


def _applied_together(experiment: Experiment) -> Iterator[tuple[str, Mapping[str, Sequence[Any]]]]:
    """Yield the paths that are changed together with the values of each, and where they are declared."""
    for name, changes in _named_changes(experiment):
        yield name, {path: (value,) for path, value in changes.items()}
    for design in experiment.designs:
        if isinstance(design, Factorial):
            yield "design.vary", design.vary
        elif isinstance(design, Zip):
            for point in zip(*design.vary.values(), strict=True):
                yield "design.vary", {path: (value,) for path, value in zip(design.vary, point, strict=True)}
    if experiment.search is not None:
        yield "design.space", experiment.search.space
    if experiment.tune is not None:
        yield "tune.vary", experiment.tune.vary


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
                f"{named(names, len(experiment.arms))}: the warm-up takes {updates_text(warmup)} and {stage} has "
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
            f"pretraining.evaluations is {points:,}, but pretraining has {updates_text(updates)}: the held-out curve "
            "has one point per update"
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


REMEDY = "Write smaller sizes, a smaller recipe.batch_sequences or more recipe.micro_batches"
ON_GPU = "recipe.activation_checkpointing: full saves nearly all activations"


def memory_warnings(experiment: Experiment, device: Device, memory: float) -> Iterator[str]:
    """Yield the arms that need more than the bytes of their device, grouped by their need; not those refused."""
    place = "machine's GPU" if is_gpu(device) else "machine"
    refused = {name for names in _refused(experiment, memory).values() for name in names} if is_gpu(device) else ()
    retried = ". A stage that runs out goes on with twice the micro-batches" if is_gpu(device) else ""
    needs = {
        arm.name: least_memory(arm.candidate) for arm in experiment.arms if arm.candidate.recipe.device == device
    }
    too_large = {name: need for name, need in needs.items() if sum(need) > memory and name not in refused}
    for need, names in _by_need(too_large).items():
        who = named(names, len(experiment.arms))
        yield f"{who}: {_needed(need)}, and this {place} has {_gibibytes(memory)}. {REMEDY}{retried}"


def too_small_card(experiment: Experiment, memory: float) -> Iterator[str]:
    """Yield the arms that do not fit a GPU with twice their micro-batches either, grouped by their need."""
    for need, names in _refused(experiment, memory).items():
        who = named(names, len(experiment.arms))
        yield (
            f"recipe.device: cuda of {who}: {_needed(need)}, with twice the micro-batches where that helps, and a "
            f"trial has {_gibibytes(memory)} of GPU memory. {REMEDY}; {ON_GPU}"
        )


def least_memory(candidate: Candidate) -> tuple[int, int]:
    """Return the bytes of weights with their training state, and of the activations of one micro-batch, of a process.

    A lower bound: without heads and attention maps, and without activations where they are computed again.
    """
    architecture, recipe = candidate.architecture, candidate.recipe
    copies = 4 if recipe.optimiser.adaptive else 2  # weights and gradients; two moments of Adam, LAMB and their like
    weights = copies * VALUE_BYTES["float32"] * architecture.parameters
    if recipe.activation_checkpointing != "none":
        return weights, 0
    sequences = recipe.batch_sequences // recipe.micro_batches
    length, size = recipe.sequence_length, VALUE_BYTES[recipe.precision]
    activations = activation_memory(architecture, length, sequences, size, recipe.dropout).total
    return weights, -(-activations // recipe.processes) if is_gpu(recipe.device) else activations


def _refused(experiment: Experiment, memory: float) -> dict[tuple[int, int], list[str]]:
    needs = {}
    for arm in experiment.arms if experiment.pretrains else ():
        recipe = arm.candidate.recipe
        smallest = recipe.with_more_micro_batches or recipe
        need = least_memory(arm.candidate.model_copy(update={"recipe": smallest}))
        if is_gpu(recipe.device) and sum(need) > memory:
            needs[arm.name] = need
    return _by_need(needs)


def _by_need(needs: dict[str, tuple[int, int]]) -> dict[tuple[int, int], list[str]]:
    by_need: dict[tuple[int, int], list[str]] = {}
    for name, need in needs.items():
        by_need.setdefault(need, []).append(name)
    return by_need


def _needed(need: tuple[int, int]) -> str:
    weights, activations = need
    parts = f"{_gibibytes(weights)} of weights, gradients and moments, {_gibibytes(activations)} of saved activations"
    return f"pretraining needs at least {_gibibytes(weights + activations)} ({parts})"


def _gibibytes(count: float) -> str:
    return f"{count / 2**30:,.1f} GiB"
