"""Ratios of CPU time: both sides in one process on one thread, repetitions interleaved, outputs compared beforehand.

The interval of a ratio is distribution-free: two order statistics of the paired ratios that cover their median with
at least 95% probability (inverted sign test). With fewer than six pairs it is the full range.
"""

import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from scipy.stats import binom
from torch import Tensor

CONFIDENCE = 0.95
PRODUCT_SIDE = 1024  # large enough for peak speed, small enough for the caches
MOST_CALLS = 1000

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
