"""Activation functions by name, as in `search_space.activation`."""

from collections.abc import Callable
from functools import partial

from torch import Tensor
from torch.nn.functional import gelu, relu, silu

from search_space.activation import GATED, Activation, FeedForwardActivation

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": gelu,
    "gelu_tanh": partial(gelu, approximate="tanh"),
    "relu": relu,
    "swish": silu,
}


def activation_function(name: Activation) -> Callable[[Tensor], Tensor]:
    """Return the function of a name, element by element."""
    return FUNCTIONS[name]


def feed_forward_function(name: FeedForwardActivation) -> Callable[[Tensor], Tensor]:
    """Return the function between the maps of a feed-forward network; a gated one halves the channels."""
    return partial(_gated, FUNCTIONS[GATED[name]]) if name in GATED else FUNCTIONS[name]


def _gated(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return function(first) * second
