"""Activation functions by name, as in `search_space.activation`."""

from collections.abc import Callable
from functools import partial

from torch import Tensor
from torch.nn.functional import gelu, relu, silu

from search_space.activation import Activation

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": gelu,
    "gelu_tanh": partial(gelu, approximate="tanh"),
    "relu": relu,
    "swish": silu,
}


def activation_function(name: Activation) -> Callable[[Tensor], Tensor]:
    """Return the function of a name, element by element."""
    return FUNCTIONS[name]
