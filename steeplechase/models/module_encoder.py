"""A module of a factory in the place of the encoder: the same interface, and initial weights drawn from the seed."""

from types import SimpleNamespace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from search_space.module_architecture import ModuleArchitecture
from search_space.module_factories import factory_of
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import truncated_normal
from steeplechase.models.precision import to_autocast_dtype


class ModuleEncoder(Encoder):
    """The built module. Its layers have no names here, so that measures of blocks and heads are refused."""

    initialises_children = True

    def __init__(self, architecture: ModuleArchitecture) -> None:
        nn.Module.__init__(self)
        self.architecture = architecture
        self.module = build_module(architecture)
        table = input_embeddings(self.module)
        self.output_table: nn.Embedding | None = None
        if table is None:
            self.output_table = nn.Embedding(architecture.vocabulary_size, architecture.embedding_width)

    @property
    def embeddings(self) -> Any:  # type: ignore[override]
        """The tied token table, or the output layer's own."""
        return SimpleNamespace(tokens=self.output_table or input_embeddings(self.module))

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(self.parameters()).device

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Build the module once more from the seed, as the factory initialises it, and take its values."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator.initial_seed() % 2**63)
            self.module.load_state_dict(build_module(self.architecture).state_dict())
        if self.output_table is not None:
            truncated_normal(self.output_table.weight, generator)

    def forward(
        self,
        tokens: Int[Tensor, "batch seq"],
        segments: Int[Tensor, "batch seq"] | None = None,
        padding_mask: PaddingMask = None,
    ) -> Float[Tensor, "batch seq width"]:
        """Return one vector per token; segments are not passed on, the separator token divides a pair."""
        return to_autocast_dtype(self.module(tokens, padding_mask))


def build_module(architecture: Any) -> nn.Module:
    """Return the module of the factory.

    Raises RefusedFactory for a factory that is not allowed, TypeError for one that returns anything else.
    """
    arguments = {
        key: [*given] if isinstance(given, tuple) else given for key, given in architecture.arguments.items()
    }
    module = factory_of(architecture.factory)(**arguments)
    if not isinstance(module, nn.Module):
        raise TypeError(f"{architecture.factory} returned {type(module).__name__}; a torch module is needed")
    lazy = [key for key, each in module.named_parameters() if isinstance(each, UninitializedParameter)]
    if lazy:
        raise TypeError(f"{architecture.factory} returned parameters without a size: {', '.join(lazy)}")
    return module


def input_embeddings(module: nn.Module) -> nn.Embedding | None:
    """Return the module's token embeddings, None if it does not name them."""
    named = getattr(module, "get_input_embeddings", None)
    found = named() if callable(named) else None
    return found if isinstance(found, nn.Embedding) else None
