"""Contracts of an architecture of kind module: its hidden states, padding, gradients and initial weights."""

import inspect
import sys
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from search_space.module_architecture import ModuleArchitecture, Scalar
from steeplechase.models.contract import Broken, Outcome, outcomes_of
from steeplechase.models.initialisation import initialise
from steeplechase.models.module_encoder import ModuleEncoder

LENGTHS, LENGTH = (9, 16), 16
LARGEST_CHANGE = 1e-4
"""Of hidden states in float32, relative to the largest."""


def module_outcomes(architecture: ModuleArchitecture, title: str) -> Iterator[Outcome]:
    """Return the outcome of every contract for an architecture."""
    return outcomes_of(CONTRACTS, architecture, title)


def is_what_it_declares(architecture: ModuleArchitecture) -> None:
    """Check that the module is built, and has the declared widths."""
    for violation in architecture.violations():
        raise Broken(violation.message)


def hidden_states_follow_from_the_tokens(architecture: ModuleArchitecture) -> None:
    """Check that hidden states are finite, the same for the same tokens, and others for others."""
    encoder = _built(architecture, 1).eval()
    with torch.no_grad():
        first, again, other = (encoder(_tokens(architecture, seed)) for seed in (1, 1, 2))
    if not first.isfinite().all():
        raise Broken("hidden states are not finite")
    if not torch.equal(first, again):
        raise Broken("hidden states differ between two passes of the same tokens in evaluation")
    if torch.equal(first, other):
        raise Broken("hidden states are the same for other tokens")


def padding_changes_nothing(architecture: ModuleArchitecture) -> None:
    """Check that the content of padding changes no other position."""
    encoder, mask = _built(architecture, 1), torch.arange(LENGTH) < torch.tensor(LENGTHS)[:, None]
    shown = _tokens(architecture, 1)
    other = torch.where(mask, shown, _tokens(architecture, 2))
    with torch.no_grad():
        one, two = (encoder.eval()(tokens, None, mask)[mask] for tokens in (shown, other))
    change = ((one - two).abs().max() / one.abs().max()).item()
    if not change <= LARGEST_CHANGE:
        raise Broken(f"the content of padding changes other positions by up to {change:.2g} of the largest value")


def gradients_reach_every_parameter(architecture: ModuleArchitecture) -> None:
    """Check that every parameter of the module has a gradient; a key's bias may have none, by the softmax."""
    encoder = _built(architecture, 1).eval()
    out = encoder(_tokens(architecture, 1), None, torch.ones(len(LENGTHS), LENGTH, dtype=torch.bool))
    (out * torch.randn(out.shape, generator=torch.Generator().manual_seed(4))).sum().backward()
    silent = [name for name, each in encoder.module.named_parameters() if each.grad is None]
    if silent:
        raise Broken(f"no gradient: {', '.join(silent)}")


def start_is_a_function_of_the_seed(architecture: ModuleArchitecture) -> None:
    """Check that equal seeds give equal initial weights, and another seed others."""
    first, again, other = (dict(_built(architecture, seed).named_parameters()) for seed in (1, 1, 2))
    differing = [name for name in first if not torch.equal(first[name], again[name])]
    if differing:
        raise Broken(f"differs between two starts with one seed: {', '.join(differing)}")
    if all(torch.equal(first[name], other[name]) for name in first):
        raise Broken("every weight is the same with another seed")


def every_argument_reaches_something(architecture: ModuleArchitecture) -> None:
    """Check that another value of each argument, one at a time, changes weights or hidden states."""
    if silent := silent_arguments(architecture, _tokens(architecture, 1)):
        raise Broken(f"another value changes neither weights nor hidden states: {', '.join(silent)}")


CONTRACTS: dict[str, Callable[[ModuleArchitecture], None]] = {
    "the built module is what is declared": is_what_it_declares,
    "hidden states follow from the tokens": hidden_states_follow_from_the_tokens,
    "the content of padding changes no other position": padding_changes_nothing,
    "gradients reach every parameter": gradients_reach_every_parameter,
    "initial values are a function of the seed": start_is_a_function_of_the_seed,
    "every argument reaches something": every_argument_reaches_something,
}
"""By name."""


def _built(architecture: ModuleArchitecture, seed: int) -> ModuleEncoder:
    with torch.random.fork_rng(devices=[]):
        encoder = ModuleEncoder(architecture)
        initialise(encoder, seed)
    return encoder


def _tokens(architecture: ModuleArchitecture, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, architecture.vocabulary_size, (len(LENGTHS), LENGTH), generator=generator)


Value = Scalar | tuple[Scalar, ...]
SEED = 1


def silent_arguments(architecture: ModuleArchitecture, tokens: Tensor) -> list[str]:
    """Return the arguments, those at a default included, none of whose other values changes the built module.

    Compared are the weights, and the hidden states of `tokens` in training and in evaluation, all at one seed. A
    value that the factory refuses says nothing, and neither does an argument without another known value, as a text.
    """
    reference = _effects(architecture, tokens)
    return [
        name for name, value in _arguments(architecture).items() if _is_silent(architecture, name, value, reference)
    ]


def _is_silent(architecture: ModuleArchitecture, name: str, value: Value, reference: list[Tensor]) -> bool:
    tokens, *_ = reference
    compared = False
    for other in _others(value):
        changed = {**architecture.model_dump(), "arguments": {**architecture.arguments, name: other}}
        try:
            effects = _effects(ModuleArchitecture.model_validate(changed), tokens)
        except (Exception, SystemExit):  # whatever a factory of the user's raises at a value it cannot take
            continue
        compared = True
        if len(effects) != len(reference) or not all(map(torch.equal, effects, reference)):
            return False
    return compared


def _arguments(architecture: ModuleArchitecture) -> dict[str, Value]:
    """Return the arguments of the factory, with the defaults of those that the experiment does not give."""
    factory = getattr(sys.modules[architecture.module], architecture.factory.partition(":")[2])
    defaults = {
        name: each.default
        for name, each in inspect.signature(factory).parameters.items()
        if each.default is not inspect.Parameter.empty
    }
    return {**defaults, **architecture.arguments}


def _others(value: Value) -> Iterator[Value]:
    """Yield other values of an argument, the nearest first."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (each for each in (value + 1, 2 * value, value // 2, 1, 2, 3, 0) if each != value)
    elif isinstance(value, float):
        yield from (each for each in (value / 2, 0.5, 2 * value, 0.0, 1.0) if each != value)
    elif isinstance(value, tuple) and value:
        yield from ((first, *value[1:]) for first in _others(value[0]) if not isinstance(first, tuple))


def _effects(architecture: ModuleArchitecture, tokens: Tensor) -> list[Tensor]:
    """Return the tokens, the weights, and the hidden states in training and in evaluation, at one seed."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        encoder = ModuleEncoder(architecture)
        initialise(encoder, SEED)
        torch.manual_seed(SEED)
        trained = encoder.train()(tokens)
        return [tokens, *encoder.state_dict().values(), trained, encoder.eval()(tokens)]
