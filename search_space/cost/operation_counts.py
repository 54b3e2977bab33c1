"""Operation counts per token by kind, before a convention turns them into FLOPs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Operations:
    """Counts by kind. A convention's prices have the same fields: the FLOPs of one operation of each kind."""

    multiply_adds: int = 0
    """Of matrix products and of weighted sums."""
    products: int = 0
    """Of two tensors, element by element."""
    scalings: int = 0
    """Products of an element with one fixed number."""
    additions: int = 0
    """Of biases and residuals, element by element."""
    lookups: int = 0
    """Multiply-adds of a table lookup, counted as a product with a one-hot vector."""
    normalised: int = 0
    """Elements that a layer norm reads."""
    gelus: int = 0
    sigmoids: int = 0
    softmaxed: int = 0
    """Elements that a softmax reads."""
    dropped: int = 0
    """Elements that a dropout reads, at any rate."""

    def __add__(self, other: "Operations") -> "Operations":
        return Operations(*(left + right for left, right in zip(self._counts, other._counts, strict=True)))

    def priced(self, prices: "Operations") -> int:
        """Return the total FLOPs at these prices."""
        return sum(amount * price for amount, price in zip(self._counts, prices._counts, strict=True))

    @property
    def _counts(self) -> tuple[int, ...]:
        return tuple(vars(self).values())  # `astuple` copies deeply, which is slow


def linear(inputs: int, outputs: int, groups: int = 1, *, biases: bool = True) -> Operations:
    """Return the operations of a (grouped) linear map per token."""
    return Operations(multiply_adds=inputs * outputs // groups, additions=outputs if biases else 0)
