"""Batches of a training in the order of its updates; the next one may be prepared while the device computes."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Prepared = TypeVar("Prepared")


def prepared_batches(prepare: Callable[[int], Prepared], steps: range, ahead: bool) -> Iterator[Prepared]:
    """Yield `prepare` of every step in order.

    `ahead`: the next one is prepared in a thread of its own while the caller uses the one before. `prepare` is a
    function of the step alone, so its values are the same either way.
    """
    if not ahead:
        yield from map(prepare, steps)
        return
    with ThreadPoolExecutor(1, "next batch") as thread:
        coming = thread.submit(prepare, steps[0]) if steps else None
        for step in steps:
            assert coming is not None
            batch = coming.result()
            coming = thread.submit(prepare, step + steps.step) if step != steps[-1] else None
            yield batch
