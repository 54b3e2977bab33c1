"""Contracts of an architecture of kind module: its hidden states, padding, gradients and initial weights."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from search_space.module_architecture import ModuleArchitecture
from steeplechase.models.argument_effects import silent_arguments
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
