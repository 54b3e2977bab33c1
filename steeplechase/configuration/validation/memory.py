"""Arms that need more memory than their device has, by a lower bound in closed form. Pure.

On a GPU a stage that runs out goes on once with twice the micro-batches, so an arm that fits then is warned of, and
one that does not is refused before the first stage.
"""

from collections.abc import Iterator

from search_space.activation_memory import VALUE_BYTES, activation_memory
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.devices import Device

ARMS_NAMED = 4
REMEDY = "Write smaller sizes, a smaller recipe.batch_sequences or more recipe.micro_batches"
ON_GPU = "recipe.activation_checkpointing: full saves nearly all activations"


def memory_warnings(experiment: Experiment, device: Device, memory: float) -> Iterator[str]:
    """Yield the arms that need more than the bytes of their device, grouped by their need; not those refused."""
    place = "machine" if device == "cpu" else "machine's GPU"
    refused = {name for names in _refused(experiment, memory).values() for name in names} if device == "cuda" else ()
    retried = ". A stage that runs out goes on with twice the micro-batches" if device == "cuda" else ""
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
    return weights, -(-activations // recipe.processes) if recipe.device == "cuda" else activations


def named(names: list[str], among: int) -> str:
    """Return the first names of arms, or that they are all."""
    if len(names) == among:
        return "every arm"
    more = f" and {len(names) - ARMS_NAMED} more" if len(names) > ARMS_NAMED else ""
    return f"{', '.join(names[:ARMS_NAMED])}{more}"


def _refused(experiment: Experiment, memory: float) -> dict[tuple[int, int], list[str]]:
    needs = {}
    for arm in experiment.arms if experiment.pretrains else ():
        recipe = arm.candidate.recipe
        smallest = recipe.with_more_micro_batches or recipe
        need = least_memory(arm.candidate.model_copy(update={"recipe": smallest}))
        if recipe.device == "cuda" and sum(need) > memory:
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
