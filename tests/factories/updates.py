"""The updates of a training in a test: shapes are checked in the first ones, since all call the same functions."""

from collections.abc import Iterator
from contextlib import contextmanager

from jaxtyping import config

CHECKED = 5


@contextmanager
def unchecked_shapes(unchecked: bool = True) -> Iterator[None]:
    """Check no shapes inside, if `unchecked`: a check takes as long as what a small model computes."""
    disabled = config.jaxtyping_disable
    config.update("jaxtyping_disable", unchecked)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", disabled)


def updates(count: int) -> Iterator[int]:
    """Yield the numbers of the updates; shapes are checked in the first ones, and again after the last."""
    yield from range(min(count, CHECKED))
    with unchecked_shapes():
        yield from range(CHECKED, count)
