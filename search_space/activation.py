"""Activation functions by name, with their operations per element. GELU: Hendrycks and Gimpel 2016, 1606.08415.

Gated feed-forward networks: Shazeer 2020, arXiv 2002.05202.
"""

from typing import Literal

from search_space.cost import Operations

Activation = Literal["gelu", "gelu_tanh", "relu", "swish"]
"""`gelu_tanh` is GELU's tanh approximation (GPT, ALBERT); `swish` is x·sigmoid(x) (arXiv 1710.05941)."""
FeedForwardActivation = Literal[Activation, "geglu", "swiglu"]
"""The last two are gated: the first map has two halves, and the activation of one multiplies the other."""

GATED: dict[str, Activation] = {"geglu": "gelu", "swiglu": "swish"}
"""The activation of the first half in gated networks."""
TITLES: dict[str, str] = {
    "gelu": "GELU",
    "gelu_tanh": "GELU (tanh)",
    "relu": "ReLU",
    "swish": "Swish",
    "geglu": "GeGLU",
    "swiglu": "SwiGLU",
}
OPERATIONS: dict[str, Operations] = {
    "gelu": Operations(gelus=1),
    "gelu_tanh": Operations(gelus=1),
    "relu": Operations(products=1),
    "swish": Operations(sigmoids=1, products=1),
    "geglu": Operations(gelus=1, products=1),
    "swiglu": Operations(sigmoids=1, products=2),
}
"""Per element that comes out. A rectifier is counted as one product with 0 or 1."""


def activation_operations(name: str, elements: int) -> Operations:
    """Return the operations of an activation function with so many elements coming out."""
    once = OPERATIONS[name]
    return Operations(
        gelus=once.gelus * elements, products=once.products * elements, sigmoids=once.sigmoids * elements
    )
