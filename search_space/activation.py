"""Activation functions by name, with their operations per element. GELU: Hendrycks and Gimpel 2016, 1606.08415."""

from typing import Literal

from search_space.cost import Operations

Activation = Literal["gelu", "gelu_tanh", "relu", "swish"]
"""`gelu_tanh` is GELU's tanh approximation (GPT, ALBERT); `swish` is x·sigmoid(x) (arXiv 1710.05941)."""

OPERATIONS: dict[str, Operations] = {
    "gelu": Operations(gelus=1),
    "gelu_tanh": Operations(gelus=1),
    "relu": Operations(products=1),
    "swish": Operations(sigmoids=1, products=1),
}
"""Per element. A rectifier is counted as one product with 0 or 1."""


def activation_operations(name: str, elements: int) -> Operations:
    """Return the operations of an activation function on so many elements."""
    once = OPERATIONS[name]
    return Operations(
        gelus=once.gelus * elements, products=once.products * elements, sigmoids=once.sigmoids * elements
    )
