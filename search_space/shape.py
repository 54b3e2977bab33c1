"""Sizes of a sublayer, from which its costs follow in closed form, and sizes that must divide others."""

from collections.abc import Iterator
from dataclasses import dataclass

from steeplechase.foundation.errors import Violation


@dataclass(frozen=True)
class AttentionShape:
    """Sizes of one mixed-attention sublayer after the bottleneck has been applied."""

    width: int
    """Width of the residual stream, in channels."""
    heads: int
    """Heads of each branch."""
    head_width: int
    """Channels per head."""

    @property
    def inner_width(self) -> int:
        """Width of the queries, keys and values, in channels."""
        return self.heads * self.head_width


def linear_parameters(inputs: int, outputs: int, groups: int = 1, *, biases: bool = True) -> int:
    """Return the parameters of a (grouped) linear map."""
    return inputs * outputs // groups + (outputs if biases else 0)


def largest_divisor(size: int, limit: int) -> int:
    """Return the largest divisor of a size that is at most `limit`."""
    return next(divisor for divisor in range(min(size, limit), 0, -1) if size % divisor == 0)


def not_dividing(sizes: object, divisor_name: str, size_name: str, reason: str) -> Iterator[Violation]:
    """Yield that one attribute does not divide another, with the nearest values that do."""
    divisor, size = getattr(sizes, divisor_name), getattr(sizes, size_name)
    if size % divisor:
        message = f"{divisor} does not divide {size_name} {size}; {reason}. Allowed near it: {near(size, divisor)}"
        yield Violation((divisor_name,), message)


def near(size: int, divisor: int) -> str:
    """Return the divisors of a size that are nearest to a number, in words."""
    found = [each for each in range(max(1, divisor - 64), divisor + 65) if size % each == 0]
    return ", ".join(map(str, sorted(sorted(found, key=lambda each: abs(each - divisor))[:4]))) or "1"
