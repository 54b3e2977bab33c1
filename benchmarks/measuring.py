"""Ratios of CPU time: both sides in one process on one thread, repetitions interleaved, outputs compared beforehand.

The interval of a ratio is distribution-free: two order statistics of the paired ratios that hold their median with
at least 95% (the sign test turned round). Fewer than six pairs cannot, so the whole range is given for them.
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
PRODUCT_SIDE = 1024  # large enough for a matrix product to run at its best, small enough for the caches
MOST_CALLS = 1000

Work = Callable[[], object]


class Disagreement(Exception):
    """The two sides do not compute the same thing, so no ratio between them means anything."""


class Skipped(Exception):
    """A row cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Pace:
    """How long a row is measured."""

    pairs: int = 9
    seconds: float = 0.25
    """Least CPU time of one measurement; quick work is repeated inside it."""


@dataclass(frozen=True)
class Interval:
    """The median of `n` paired ratios and the interval that holds the true median."""

    ratio: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Comparison:
    """How many times quicker ours is, and how quick the machine was meanwhile."""

    speedup: Interval
    their_seconds: float
    operations_per_second: float
    """Of a float32 or bfloat16 matrix product, measured between the pairs."""

    def ceiling(self, operations: float) -> float:
        """Return the speed-up of a side whose only cost were these many operations of matrix products."""
        return self.their_seconds * self.operations_per_second / operations


def compare(ours: Work, theirs: Work, pace: Pace, precision: torch.dtype = torch.float32) -> Comparison:
    """Measure both sides and a matrix product in turns; the two sides take turns in going first."""
    sides: list[Work] = [ours, theirs, matrix_product(precision)]
    calls = [_calls(side, pace.seconds) for side in sides]
    taken: list[list[float]] = [[], [], []]
    for pair in range(pace.pairs):
        order = (0, 1, 2) if pair % 2 == 0 else (1, 0, 2)
        for place in order:
            taken[place].append(_seconds(sides[place], calls[place]))
    ratios = [their / our for our, their in zip(taken[0], taken[1], strict=True)]
    peak = 2 * PRODUCT_SIDE**3 / statistics.median(taken[2])
    return Comparison(median_interval(ratios), statistics.median(taken[1]), peak)


def median_interval(ratios: Sequence[float]) -> Interval:
    """Return the median and the narrowest pair of order statistics that holds it with 95% or more."""
    ranked, n = sorted(ratios), len(ratios)
    outside = [2 * float(binom.cdf(rank, n, 0.5)) for rank in range(n)]
    rank = max((rank for rank in range((n + 1) // 2) if outside[rank] <= 1 - CONFIDENCE), default=0)
    return Interval(statistics.median(ranked), ranked[rank], ranked[n - 1 - rank], n)


def matrix_product(precision: torch.dtype) -> Work:
    """Return a square matrix product in this precision."""
    random = torch.Generator().manual_seed(1)
    left, right = (torch.randn(PRODUCT_SIDE, PRODUCT_SIDE, generator=random).to(precision) for _ in range(2))
    return lambda: left @ right


def check(what: str, ours: Tensor, theirs: Tensor, tolerance: float) -> None:
    """Compare two results; a difference counts in units of the largest value, or of 1. Raises Disagreement."""
    if ours.shape != theirs.shape:
        raise Disagreement(f"{what}: shapes {tuple(ours.shape)} and {tuple(theirs.shape)}")
    unit = max(1.0, theirs.abs().max().item())
    difference = (ours.float() - theirs.float()).abs().max().item() / unit
    if not difference <= tolerance:
        raise Disagreement(f"{what}: differ by {difference:.2g}, allowed {tolerance:.0e}")


def _calls(work: Work, seconds: float) -> int:
    """Warm up, then return how many calls fill a measurement."""
    work()
    return min(MOST_CALLS, max(1, math.ceil(seconds / max(_seconds(work, 1), 1e-9))))


def _seconds(work: Work, calls: int) -> float:
    """Return the CPU seconds of one call, the collector kept out."""
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        for _ in range(calls):
            work()
        return (time.process_time() - started) / calls
    finally:
        gc.enable()
