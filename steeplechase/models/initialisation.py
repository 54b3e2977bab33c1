"""Weight initialisation: truncated normal 0.02, biases zero, gains one (the releases of BERT, ELECTRA and ConvBERT).

Every module draws from its own random stream, seeded by its name, so that a parameter that two arms share has the
same initial values in both.
"""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from steeplechase.foundation.randomness import stream_seed

STANDARD_DEVIATION = 0.02


@runtime_checkable
class InitialisesParameters(Protocol):
    """A module that initialises its own parameters."""

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Set the module's own parameters."""


@runtime_checkable
class InitialisesLayers(Protocol):
    """A module whose maps and tables have a rule of their own."""

    def initialise_weight(self, layer: nn.Linear | nn.Embedding, generator: torch.Generator) -> None:
        """Set the weight of a layer inside the module."""


def initialise(model: nn.Module, seed: int) -> None:
    """Initialise every parameter of the model; a function of the seed and the names alone."""
    whole: list[str] = []
    rules: list[tuple[str, InitialisesLayers]] = []
    for name, module in model.named_modules():
        if isinstance(module, InitialisesLayers):
            rules.append((f"{name}.".lstrip("."), module))
        if any(name.startswith(f"{above}.".lstrip(".")) for above in whole):
            continue
        if getattr(module, "initialises_children", False):
            whole.append(name)
        generator = torch.Generator().manual_seed(stream_seed(seed, f"initialise {name}"))
        _initialise_own(name, module, rules, generator)


def _initialise_own(
    name: str, module: nn.Module, rules: list[tuple[str, InitialisesLayers]], generator: torch.Generator
) -> None:
    """Initialise the parameters of one module, without those of its parts."""
    if isinstance(module, InitialisesParameters):
        module.initialise_parameters(generator)
    elif isinstance(module, nn.LayerNorm):
        nn.init.ones_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Linear | nn.Embedding):
        rule = next((rule for prefix, rule in rules if name.startswith(prefix)), None)
        if rule is None:
            truncated_normal(module.weight, generator)
        else:
            rule.initialise_weight(module, generator)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
    elif list(module.parameters(recurse=False)):
        missing = "has parameters and no initialisation rule; give it a method initialise_parameters(generator)"
        raise TypeError(f"{name}: {type(module).__name__} {missing}")


def truncated_normal(weight: Tensor, generator: torch.Generator) -> None:
    """Fill with a normal of standard deviation 0.02, truncated at two standard deviations."""
    limit = 2 * STANDARD_DEVIATION
    nn.init.trunc_normal_(weight, std=STANDARD_DEVIATION, a=-limit, b=limit, generator=generator)
