"""Attention results: the diagonal concentration C of a trained model by each definition, and its attention maps.

C is attention mass at distance <= 4 over mass beyond. ConvBERT, arXiv 2008.02496, Table 8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean

from steeplechase.ledger.records import with_results
from steeplechase.ledger.snapshot import TrialHistory
from steeplechase.ledger.stage_results import AttentionResult, Real

ALL, TEXT, PER_HEAD = "all mass", "without [CLS] and [SEP]", "mean over heads"
READINGS = (ALL, TEXT, PER_HEAD)
"""Definitions of C, since the paper does not state its own. Claims use the first."""

Cells = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Head:
    """Attention mass of one head near and far, as shares of all of it; `inner_*` exclude [CLS] and [SEP]."""

    layer: int
    near: float
    far: float
    inner_near: float
    inner_far: float


@dataclass(frozen=True)
class Attention:
    """Measured attention of one trained model."""

    length: int
    within: int
    sequences: int
    heads: tuple[Head, ...]
    maps: tuple[Cells, ...]
    """By layer, in hundredths of uniform attention."""

    def concentration(self, reading: str, layer: int | None = None) -> float | None:
        """Return C over all layers or of one, None if there is no mass beyond."""
        heads = [head for head in self.heads if layer is None or head.layer == layer]
        if reading == PER_HEAD:
            ratios = [_ratio(head.near, head.far) for head in heads]
            known = [ratio for ratio in ratios if ratio is not None]
            return fmean(known) if known and len(known) == len(ratios) else None
        pairs = [(h.inner_near, h.inner_far) if reading == TEXT else (h.near, h.far) for h in heads]
        return _ratio(sum(near for near, _ in pairs), sum(far for _, far in pairs))


def uniform_concentration(length: int, within: int) -> float | None:
    """Return C of uniform attention; it falls with the length, so that C is comparable at equal lengths only."""
    reach = min(within, length - 1)
    near = length + sum(2 * (length - distance) for distance in range(1, reach + 1))
    return _ratio(near, length**2 - near)


def attention_of(history: TrialHistory) -> Attention | None:
    """Return a trial's measured attention, None if it was not measured."""
    measured = [result for _, result in with_results(history.records, AttentionResult)]
    return _read(measured[-1]) if measured else None


def _read(result: AttentionResult) -> Attention | None:
    heads = tuple(Head(int(layer), *mass) for layer, _, *mass in _finite(result.heads))
    if not heads:
        return None
    return Attention(result.length, result.within, result.sequences, heads, tuple(map(_finite, result.maps)))


def _finite(rows: Sequence[Sequence[Real]]) -> Cells:
    """Return the rows, or no rows if an entry is not finite."""
    if not all(isfinite(entry) for row in rows for entry in row):
        return ()
    return tuple(tuple(map(float, row)) for row in rows)


def _ratio(near: float, far: float) -> float | None:
    return near / far if far > 0 else None
