"""Memory of a piece of work: what autograd keeps for the backward pass, and the most that torch ever holds."""

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.profiler import ProfilerActivity, profile


@dataclass(frozen=True)
class Allocations:
    """Bytes taken from torch's CPU allocator while the work ran; what was there before does not count."""

    peak: int
    """The most held at once."""
    left: int
    """Still held when the work returned its result."""


def saved_bytes(work: Callable[[], object]) -> int:
    """Return the bytes of the distinct storages that `work` saves for backward through autograd, inputs included."""
    found: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        alive = work()  # held until the count is over, or an address could be used twice
    total = sum(found.values())
    del alive
    return total


def allocations(work: Callable[[], object]) -> Allocations:
    """Follow every allocation of torch's CPU allocator, scratch space inside operators included."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # the profiler tells of its start and end otherwise
    work()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as trace:
        alive = work()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        trace.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    del alive
    told = [event for event in events if event["name"] == "[memory]" and event["args"]["Device Type"] == 0]
    return _followed((event["args"]["Addr"], event["args"]["Bytes"]) for event in sorted(told, key=lambda e: e["ts"]))


def _followed(changes: Iterable[tuple[int, int]]) -> Allocations:
    """Return peak and rest of a history; freeing what was there before changes nothing."""
    held: dict[int, int] = {}
    total = peak = 0
    for address, size in changes:
        if size > 0:
            held[address] = size
            total += size
            peak = max(peak, total)
        else:
            total -= held.pop(address, 0)
    return Allocations(peak, total)
