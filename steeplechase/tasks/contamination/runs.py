"""Rolling hashes of word n-grams, vectorised. Karp and Rabin 1987, IBM J. Res. Dev. 31(2)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

UNKNOWN = 0
"""Number of all words outside the dev set."""

_FACTOR = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2**64; the digits of the golden ratio
_INVERSE = pow(_FACTOR, -1, 1 << 64)


@dataclass
class Runs:
    """Distinct runs of words by hash, with those found in documents."""

    hashes: Hashes
    """Sorted."""
    starts: Integers
    """Start of each run in the words of the dev set."""
    lengths: Integers
    source: list[str | None] = field(init=False)

    def __post_init__(self) -> None:
        self.source = [None] * len(self.hashes)
        self.missing = np.ones(len(self.hashes), dtype=bool)

    @cached_property
    def _sieve(self) -> tuple[np.uint64, NDArray[np.bool_]]:
        """Bitmap over the leading bits of the hashes, which rejects nine of ten absent hashes with one lookup."""
        bits = max(12, int(16 * len(self.hashes)).bit_length())
        shift = np.uint64(64 - bits)
        table = np.zeros(1 << bits, dtype=bool)
        table[self.hashes >> shift] = True
        return shift, table

    def candidates(self, hashes: Hashes) -> Iterator[tuple[int, int]]:
        """Yield (index into `hashes`, run) for the runs not found yet."""
        if not len(self.hashes):
            return
        shift, table = self._sieve
        indices = np.flatnonzero(table[hashes >> shift])
        runs = np.minimum(np.searchsorted(self.hashes, hashes[indices]), len(self.hashes) - 1)
        equal = (self.hashes[runs] == hashes[indices]) & self.missing[runs]
        yield from zip(indices[equal].tolist(), runs[equal].tolist(), strict=True)

    def take(self, run: int, source: str) -> None:
        """Mark a run as found, and keep the first source."""
        if self.missing[run]:
            self.missing[run], self.source[run] = False, source


@dataclass(frozen=True)
class Stretch:
    """Words as numbers, with the prefix sums from which the hash of any run follows."""

    numbers: Integers

    @cached_property
    def _powers(self) -> tuple[Hashes, Hashes]:
        count = len(self.numbers) + 1
        return _powers(_FACTOR, count), _powers(_INVERSE, count)

    @cached_property
    def _sums(self) -> Hashes:
        mixed = _mixed(self.numbers.astype(np.uint64))
        return np.concatenate(([np.uint64(0)], np.cumsum(mixed * self._powers[0][:-1], dtype=np.uint64)))

    @cached_property
    def _unknown(self) -> Integers:
        return np.concatenate(([0], np.cumsum(self.numbers == UNKNOWN)))

    def known(self, starts: Integers, ends: Integers) -> NDArray[np.bool_]:
        """Return a mask of the runs that consist of words of the dev set."""
        mask: NDArray[np.bool_] = self._unknown[ends] == self._unknown[starts]
        return mask

    def hashes(self, starts: Integers, ends: Integers) -> Hashes:
        """Return one hash per run, independent of its position."""
        hashes: Hashes = (self._sums[ends] - self._sums[starts]) * self._powers[1][starts]
        return hashes

    def runs(self, length: int) -> tuple[Integers, Integers]:
        """Return start and end of every run of `length` words."""
        starts = np.arange(max(0, len(self.numbers) - length + 1))
        return starts, starts + length


def _powers(base: int, count: int) -> Hashes:
    """Return base**0, base**1, … modulo 2**64."""
    factors = np.full(count, base, dtype=np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _mixed(numbers: Hashes) -> Hashes:
    """Return pseudo-random 64-bit values of the numbers: the finaliser of splitmix64 (Steele et al. 2014)."""
    mixed = (numbers + np.uint64(1)) * np.uint64(_FACTOR)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
