"""`measure.attention_diagonal`: how near to the diagonal a trained encoder attends, and its mean maps."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from statistics import fmean
from typing import ClassVar

from search_space.candidate import Candidate
from steeplechase.configuration.measurements.measurement import Measurement
from steeplechase.configuration.stage_result import Real, Result
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count, JsonValue, Whole

ATTENTION = "attention"
ALL, TEXT, PER_HEAD = "all mass", "without [CLS] and [SEP]", "mean over heads"
READINGS = (ALL, TEXT, PER_HEAD)
"""Definitions of C, since its paper does not state its own. Claims use the first."""

Cells = tuple[tuple[Real, ...], ...]


class AttentionDiagonal(Measurement):
    """Diagonal concentration C: attention mass at distance <= 4 over mass beyond. ConvBERT, 2008.02496, Table 8.

    The paper does not state which text and length it uses, or how layers, heads and the special tokens [CLS] and
    [SEP] enter. Here: unmodified held-out text at the baseline's sequence length, the same for every arm; the mass is
    summed over layers, heads and tokens, special tokens included. Reports also show the other definitions.
    """

    within: Count = 4
    """The largest distance in tokens that counts as near."""
    sequences: Count = 256
    """Number of held-out sequences, evenly spaced over the validation split."""
    key: ClassVar[str] = "attention_diagonal"
    brief: ClassVar[str] = "Diagonal concentration of attention, as in ConvBERT's Table 8; null to skip it."
    example: ClassVar[Mapping[str, JsonValue]] = {"within": 4}
    stage: ClassVar[str] = ATTENTION
    of_pretraining: ClassVar[bool] = False

    def violations(self, length: int, arms: Mapping[str, Candidate]) -> Iterator[Violation]:
        """Yield the arms that cannot read the same sequences."""
        for name, candidate in arms.items():
            if candidate.architecture.too_long(length):
                positions = candidate.architecture.longest_sequence
                message = f"{name} has {positions} positions; C is compared at the baseline's {length} tokens"
                yield Violation((), message)


class AttentionResult(Result):
    """Where the heads of a trained encoder attend, and their diagonal concentration C by each definition.

    C is attention mass at distance <= `within` over mass beyond. ConvBERT, arXiv 2008.02496, Table 8.
    """

    finished: ClassVar[tuple[str, ...]] = ("attention",)
    sequences: Whole
    length: Whole
    within: Whole
    """The largest distance in tokens that counts as near."""
    heads: tuple[tuple[Real, Real, Real, Real, Real, Real], ...]
    """Layer, head, and as shares of a token's attention: near, far, and both without [CLS] and [SEP]."""
    maps: tuple[Cells, ...]
    """By layer, in hundredths of even attention; `finite_maps` are for readers."""

    @property
    def is_finite(self) -> bool:
        """Whether there is a head, and every mass is a number."""
        return bool(self.heads) and _finite(self.heads)

    @property
    def finite_maps(self) -> tuple[Cells, ...]:
        """The maps; one with an entry that is not finite has no cells."""
        return tuple(cells if _finite(cells) else () for cells in self.maps)

    @property
    def depth(self) -> int:
        """The number of layers."""
        return int(max(head[0] for head in self.heads)) + 1

    def concentration(self, reading: str, layer: int | None = None) -> float | None:
        """Return C over all layers or of one, None if there is no mass beyond."""
        heads = [mass for of_layer, _, *mass in self.heads if layer in (None, of_layer)]
        if reading == PER_HEAD:
            ratios = [_ratio(near, far) for near, far, _, _ in heads]
            known = [ratio for ratio in ratios if ratio is not None]
            return fmean(known) if known and len(known) == len(ratios) else None
        pairs = [mass[2:] if reading == TEXT else mass[:2] for mass in heads]
        return _ratio(sum(near for near, _ in pairs), sum(far for _, far in pairs))


def uniform_concentration(length: int, within: int) -> float | None:
    """Return C of uniform attention; it falls with the length, so that C is comparable at equal lengths only."""
    reach = min(within, length - 1)
    near = length + sum(2 * (length - distance) for distance in range(1, reach + 1))
    return _ratio(near, length**2 - near)


def _finite(rows: Sequence[Sequence[Real]]) -> bool:
    return all(isfinite(entry) for row in rows for entry in row)


def _ratio(near: float, far: float) -> float | None:
    return near / far if far > 0 else None
