"""Batches that grow at the beginning of pretraining. Brown et al. 2020, arXiv 2005.14165, appendix B.

The sizes are the multiples of the first one. Data are those of a constant batch in the same order, cut differently: a
larger batch is several of the smallest ones, one behind another.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pydantic import Field

from search_space.shape import near
from steeplechase.foundation.schema import Count, Schema

SIZES_AT_MOST = 4096


class BatchWarmUp(Schema):
    """Batches of 1, 2, 3 … times `initial_sequences`, up to `batch_sequences`."""

    initial_sequences: Count = Field(examples=[768])
    """Sequences of the first batches, and by how many batches grow. ModernBERT-base: 768 of 4,608."""
    tokens: Count = Field(examples=[50_000_000_000])
    """Training tokens before batches have their whole size. ModernBERT-base: 50 billion."""
    equal: Literal["updates", "tokens"] = "updates"
    """What every size has the same number of: `updates`, rounded up to whole ones (ModernBERT, arXiv 2412.13663,
    section 2.2), or `tokens`, so that the size grows in proportion to them (GPT-3)."""

    def mistakes(self, batch_sequences: int) -> Iterator[str]:
        """Yield what the sizes cannot be."""
        first = self.initial_sequences
        if first >= batch_sequences:
            yield f"{first} is not below batch_sequences, {batch_sequences}; leave batch_warm_up out, or write fewer"
        elif batch_sequences % first:
            allowed = near(batch_sequences, first)
            yield f"{first} does not divide batch_sequences {batch_sequences}. Allowed near it: {allowed}"
        elif batch_sequences // first > SIZES_AT_MOST:
            least = -(-batch_sequences // SIZES_AT_MOST)
            yield f"{batch_sequences // first} sizes of a batch are too many; write {least} or more"


@dataclass(frozen=True)
class Phase:
    """Updates with batches of one size."""

    first_update: int
    first_sequence: int
    """Sequences of all updates before."""
    batch_sequences: int


@lru_cache(maxsize=4096)
def phases(warm_up: BatchWarmUp | None, batch_sequences: int, sequence_length: int) -> tuple[Phase, ...]:
    """Return the phases in order, each of at least one update; the last one has no end."""
    if warm_up is None or [*warm_up.mistakes(batch_sequences)]:
        return (Phase(0, 0, batch_sequences),)
    return (*_growing(warm_up, batch_sequences // warm_up.initial_sequences, sequence_length),)


def _growing(warm_up: BatchWarmUp, sizes: int, sequence_length: int) -> Iterator[Phase]:
    first, update, sequence = warm_up.initial_sequences, 0, 0
    sequences = -(-warm_up.tokens // sequence_length)  # of the whole warm-up
    each = -(-sequences // (first * sizes * (sizes - 1) // 2))  # updates of every size, where those are equal
    for size in range(1, sizes):
        batch = size * first
        until = -(-size * sequences // (sizes - 1))
        updates = each if warm_up.equal == "updates" else max(0, -(-(until - sequence) // batch))
        if updates:
            yield Phase(update, sequence, batch)
        update, sequence = update + updates, sequence + updates * batch
    yield Phase(update, sequence, sizes * first)


def phase_of(update: int, among: tuple[Phase, ...]) -> Phase:
    """Return the phase of the update that follows `update` updates."""
    return among[bisect_right(among, update, key=lambda phase: phase.first_update) - 1]


def sequences_before(update: int, among: tuple[Phase, ...]) -> int:
    """Return the sequences of the first `update` updates."""
    phase = phase_of(update, among)
    return phase.first_sequence + (update - phase.first_update) * phase.batch_sequences


def updates_with(sequences: int, among: tuple[Phase, ...]) -> int:
    """Return the fewest updates that have at least so many sequences."""
    place = bisect_left(among, sequences, key=lambda phase: phase.first_sequence)
    phase = among[max(0, place - 1)]
    return phase.first_update + -(-(sequences - phase.first_sequence) // phase.batch_sequences)
