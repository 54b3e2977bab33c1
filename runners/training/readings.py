"""The numbers of each update, read from the device: at once on a processor, one update late on an accelerator.

A late reading lets the host enqueue the next update while the device computes. What is read then may show that the
loss was not finite, so the steps are guarded on the device: from the first such update on, none changes a weight or a
moment, and the model is as it was before it.

The batch of the next update may be prepared meanwhile, in a thread of its own.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

GUARDED = (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)
"""Optimisers of torch whose fused kernels skip an update where `found_inf` is 1, as its gradient scaler asks."""


class Readings:
    """Updates whose numbers have not been read yet."""

    def __init__(self, optimiser: torch.optim.Optimizer, device: torch.device) -> None:
        fused = all(group.get("fused") for group in optimiser.param_groups)
        self.late = device.type != "cpu" and isinstance(optimiser, GUARDED) and fused
        """Whether numbers may be read after the step of their update."""
        self._optimiser = optimiser
        self._failed = torch.zeros((), device=device)
        self._pending: deque[tuple[int, _Copy]] = deque()

    def add(self, number: int, values: Tensor) -> None:
        """Take the numbers of an update before its step; where they are not finite, no later step has an effect."""
        if self.late:
            failed = 1.0 - values.isfinite().all().float()
            self._failed = torch.maximum(self._failed, failed)
            self._optimiser.found_inf = self._failed  # type: ignore[attr-defined]
        self._pending.append((number, _Copy(values)))

    def read(self, leave: int = 0) -> Iterator[tuple[int, list[float]]]:
        """Yield the numbers of the oldest updates in order, until `leave` are left."""
        while len(self._pending) > leave:
            number, values = self._pending.popleft()
            yield number, values.read()


class _Copy:
    """Numbers on their way to the host."""

    def __init__(self, values: Tensor) -> None:
        self._event = None
        self._values = values
        if values.is_cuda:
            self._values = values.to("cpu", non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record()

    def read(self) -> list[float]:
        if self._event is not None:
            self._event.synchronize()
        numbers: list[float] = self._values.tolist()
        return numbers


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
