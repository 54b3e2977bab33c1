"""Rows of the benchmarks: CPU time of both sides as a ratio, in one process on one thread, and memory.

Repetitions are interleaved, outputs compared beforehand. The interval of a ratio is distribution-free: two order
statistics of the paired ratios that cover their median with at least 95% probability (inverted sign test). With fewer
than six pairs it is the full range.
"""

import gc
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from scipy.stats import binom
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from steeplechase.foundation.devices import Precision
from steeplechase.models.precision import autocast_to, has_bfloat16

TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 3e-2}
CONFIDENCE = 0.95
PRODUCT_SIDE = 1024  # large enough for peak speed, small enough for the caches
MOST_CALLS = 1000
FORWARD_AND_BACKWARD = 3  # operations of a training pass in units of a forward pass
Work = Callable[[], object]


class Disagreement(Exception):
    """The results of the two sides differ, so their ratio is meaningless."""


class Skipped(Exception):
    """A row cannot be measured on this machine; the message has the reason."""


@dataclass(frozen=True)
class Pace:
    """Number and duration of measurements of a row."""

    pairs: int = 9
    seconds: float = 0.25
    """Minimum CPU time of one measurement; short work is repeated."""


@dataclass(frozen=True)
class Interval:
    """The median of `n` paired ratios and its confidence interval."""

    ratio: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Figure:
    """A measured ratio, with the upper bound set by matrix products, if known."""

    ratio: Interval
    ceiling: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One line of the table. `measure` raises Skipped or Disagreement."""

    name: str
    peer: str
    reach: float
    measure: Callable[[Pace], Figure]
    better: Literal["higher", "lower"] = "higher"
    unit: str = "their CPU time / our CPU time"

    def reached(self, ratio: float) -> bool:
        """Return whether a ratio meets the target."""
        return ratio >= self.reach if self.better == "higher" else ratio <= self.reach


@dataclass(frozen=True)
class Size:
    """Sizes of the models and batches of all rows; smaller in tests."""

    operator_batch: int = 32
    batch: int = 16
    length: int = 128
    depth: int = 4
    widths: tuple[int, ...] = (256, 128)
    vocabularies: tuple[int, ...] = (30_522, 8_192)
    examples: int = 512


FULL_SIZE = Size()


@dataclass(frozen=True)
class Comparison:
    """Our speed-up, and the speed of the machine during the measurement."""

    speedup: Interval
    their_seconds: float
    operations_per_second: float
    """Of a float32 or bfloat16 matrix product, measured between the pairs."""

    def ceiling(self, operations: float) -> float:
        """Return the speed-up of a side that spends time on this many operations of matrix products only."""
        return self.their_seconds * self.operations_per_second / operations


def compare(ours: Work, theirs: Work, pace: Pace, precision: torch.dtype = torch.float32) -> Comparison:
    """Measure both sides and a matrix product alternately; the order of the two sides alternates too."""
    sides: list[Work] = [ours, theirs, matrix_product(precision)]
    calls = [_calls(side, pace.seconds) for side in sides]
    seconds: list[list[float]] = [[], [], []]
    for pair in range(pace.pairs):
        order = (0, 1, 2) if pair % 2 == 0 else (1, 0, 2)
        for side in order:
            seconds[side].append(_seconds(sides[side], calls[side]))
    ratios = [their / our for our, their in zip(seconds[0], seconds[1], strict=True)]
    peak = 2 * PRODUCT_SIDE**3 / statistics.median(seconds[2])
    return Comparison(median_interval(ratios), statistics.median(seconds[1]), peak)


def median_interval(ratios: Sequence[float]) -> Interval:
    """Return the median and the narrowest pair of order statistics that covers it with at least 95%."""
    ranked, n = sorted(ratios), len(ratios)
    outside = [2 * float(binom.cdf(rank, n, 0.5)) for rank in range(n)]
    rank = max((rank for rank in range((n + 1) // 2) if outside[rank] <= 1 - CONFIDENCE), default=0)
    return Interval(statistics.median(ranked), ranked[rank], ranked[n - 1 - rank], n)


def matrix_product(precision: torch.dtype) -> Work:
    """Return a square matrix product in this precision."""
    random = torch.Generator().manual_seed(1)
    left, right = (torch.randn(PRODUCT_SIDE, PRODUCT_SIDE, generator=random).to(precision) for _ in range(2))
    return lambda: left @ right


def check(name: str, ours: Tensor, theirs: Tensor, tolerance: float) -> None:
    """Compare two results; differences are relative to the largest value, or to 1. Raises Disagreement."""
    if ours.shape != theirs.shape:
        raise Disagreement(f"{name}: shapes {tuple(ours.shape)} and {tuple(theirs.shape)}")
    unit = max(1.0, theirs.abs().max().item())
    difference = (ours.float() - theirs.float()).abs().max().item() / unit
    if not difference <= tolerance:
        raise Disagreement(f"{name}: differ by {difference:.2g}, allowed {tolerance:.0e}")


def _calls(work: Work, seconds: float) -> int:
    """Warm up, then return the number of calls per measurement."""
    work()
    return min(MOST_CALLS, max(1, math.ceil(seconds / max(_seconds(work, 1), 1e-9))))


def _seconds(work: Work, calls: int) -> float:
    """Return the CPU seconds of one call, without garbage collection."""
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        for _ in range(calls):
            work()
        return (time.process_time() - started) / calls
    finally:
        gc.enable()


def speed_figure(comparison: Comparison, operations: float | None, note: str = "") -> Figure:
    """Return a comparison as a figure; `operations` are those of the work of each side."""
    ceiling = None if operations is None else comparison.ceiling(operations)
    product = f"matrix product {comparison.operations_per_second / 1e9:.0f} GFLOP/s"
    speeds = f"peer {comparison.their_seconds * 1e3:,.0f} ms, {product}"
    return Figure(comparison.speedup, ceiling, f"{speeds}; {note}" if note else speeds)


def exact_figure(ours: float, theirs: float, note: str) -> Figure:
    """Return a ratio of bytes, which has no spread."""
    ratio = ours / theirs
    return Figure(Interval(ratio, ratio, ratio, 1), None, note)


def need(precision: torch.dtype) -> None:
    """Raise Skipped if the processor has no bfloat16 instructions."""
    if precision == torch.bfloat16 and not has_bfloat16(torch.device("cpu")):
        raise Skipped("this processor has no bfloat16 instructions")


def theirs_in(precision: torch.dtype) -> AbstractContextManager[object]:
    """Return the autocast context of a peer's forward pass."""
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16)


def ours_in(precision: torch.dtype) -> AbstractContextManager[object]:
    """Return the autocast context of our forward pass."""
    return autocast_to(named(precision), torch.device("cpu"))


def named(precision: torch.dtype) -> Precision:
    """Return the name of a precision in recipes."""
    return "bfloat16" if precision == torch.bfloat16 else "float32"


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
