"""The updates of a training in a test: shapes are checked in the first ones, since all call the same functions."""

from collections.abc import Iterator

from jaxtyping import config

CHECKED = 5


def updates(count: int) -> Iterator[int]:
    """Yield the numbers of the updates; shapes are checked in the first ones, and again after the last."""
    disabled = config.jaxtyping_disable
    try:
        for number in range(count):
            if number == CHECKED:
                config.update("jaxtyping_disable", True)
            yield number
    finally:
        config.update("jaxtyping_disable", disabled)
