"""How a sublayer, its norm and its residual are connected: one file per option of `search_space.normalisation`."""

from collections.abc import Callable
from importlib import import_module

from torch import Tensor

from search_space.normalisation import Normalisation

Map = Callable[[Tensor], Tensor]
Connect = Callable[[Tensor, Map, Map, Map], Tensor]
"""From the input [batch seq width], the sublayer, its norm and its dropout to the output [batch seq width]."""


def connection(option: Normalisation) -> Connect:
    """Return the function that applies a sublayer with its norm and its residual."""
    connect: Connect = import_module(f"steeplechase.models.normalisation.{option.kind}").connect
    return connect
