"""Peak bytes of torch's allocator during some work."""

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from torch.profiler import ProfilerActivity, profile


@dataclass(frozen=True)
class Allocations:
    """Bytes allocated by torch's CPU allocator during the work, without earlier allocations."""

    peak: int
    """Peak of allocated bytes."""
    left: int
    """Bytes still allocated when the work returned."""


def allocations(work: Callable[[], object]) -> Allocations:
    """Trace all allocations of torch's CPU allocator, scratch space of operators included."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # otherwise the profiler prints its start and end
    work()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as trace:
        result = work()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        trace.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    del result
    memory_events = [event for event in events if event["name"] == "[memory]" and event["args"]["Device Type"] == 0]
    return _totals(
        (event["args"]["Addr"], event["args"]["Bytes"]) for event in sorted(memory_events, key=lambda e: e["ts"])
    )


def _totals(changes: Iterable[tuple[int, int]]) -> Allocations:
    """Return the peak and the remaining bytes of a history; frees of earlier allocations are ignored."""
    allocated: dict[int, int] = {}
    total = peak = 0
    for address, size in changes:
        if size > 0:
            allocated[address] = size
            total += size
            peak = max(peak, total)
        else:
            total -= allocated.pop(address, 0)
    return Allocations(peak, total)
