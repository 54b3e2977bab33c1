"""What all results of stages share: numbers that may be NaN or infinite in memory, and their JSON."""

from collections.abc import Iterator
from math import isfinite
from typing import Annotated, ClassVar

from pydantic import Field

from steeplechase.foundation.schema import LARGEST_COUNT, JsonValue, Schema

Real = Annotated[int, Field(ge=-LARGEST_COUNT, le=LARGEST_COUNT)] | float
Curve = tuple[tuple[Real, Real], ...]
"""Pairs of tokens seen and loss in nats."""


def finite(value: Real | None) -> float | None:
    """Return a finite number, None for everything else: what is not finite never becomes a value."""
    return None if value is None or not isfinite(value) else float(value)


def finite_points(curve: Curve) -> Iterator[tuple[int, float]]:
    """Yield the points of a curve whose tokens and loss are finite."""
    for tokens, loss in curve:
        if isfinite(tokens) and isfinite(loss):
            yield int(tokens), float(loss)


class Result(Schema, allow_inf_nan=True):
    """How a stage ended: the class names the kinds of stages that end so. Unknown fields fail."""

    finished: ClassVar[tuple[str, ...]] = ()
    """The kinds of stages whose result it is when they finish."""
    diverged: ClassVar[tuple[str, ...]] = ()
    """The kinds of stages whose result it is when they diverge."""

    @property
    def outcome(self) -> str:
        """The end in words, for the line of a finished stage."""
        return "done"

    @property
    def as_json(self) -> dict[str, JsonValue]:
        """The result as a ledger keeps it."""
        return self.model_dump(exclude_unset=True)
