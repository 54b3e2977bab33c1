"""A row of the benchmark table: name, peer, target (`reach`), and the measurement of the ratio."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmarks.measuring import Comparison, Interval, Pace

FORWARD_AND_BACKWARD = 3  # operations of a training pass in units of a forward pass


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
