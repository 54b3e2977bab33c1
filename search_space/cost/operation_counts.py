"""What is done to one token, by kind and before any price: the common ground of all counting conventions."""

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Operations:
    """Amounts by kind. A price list has the same fields: what one operation of each kind costs."""

    multiply_adds: int = 0
    """Of matrix products and of weighted sums."""
    products: int = 0
    """Of two tensors, element by element."""
    scalings: int = 0
    """Products of an element with one fixed number."""
    additions: int = 0
    """Of biases and residuals, element by element."""
    lookups: int = 0
    """Multiply-adds of a lookup, were it a product with a one-hot vector."""
    normalised: int = 0
    """Elements that pass a layer normalisation."""
    gelus: int = 0
    softmaxed: int = 0
    """Elements that pass a softmax."""
    dropped: int = 0
    """Elements that pass a dropout, whatever its rate."""

    def __add__(self, other: "Operations") -> "Operations":
        return Operations(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))

    def priced(self, prices: "Operations") -> int:
        """Return what the amounts cost together."""
        return sum(amount * price for amount, price in zip(astuple(self), astuple(prices), strict=True))


def linear(inputs: int, outputs: int, groups: int = 1) -> Operations:
    """Return the operations of a (grouped) linear map with bias on one token."""
    return Operations(multiply_adds=inputs * outputs // groups, additions=outputs)
