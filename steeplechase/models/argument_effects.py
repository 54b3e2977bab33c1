"""Arguments of a factory that reach nothing: another value gives the same weights and the same hidden states."""

import inspect
import sys
from collections.abc import Iterator

import torch
from torch import Tensor

from search_space.module_architecture import ModuleArchitecture, Scalar
from steeplechase.models.initialisation import initialise
from steeplechase.models.module_encoder import ModuleEncoder

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
