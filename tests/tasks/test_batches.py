"""Every sequence occurs once per epoch, in an order that depends on the seed only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_space.packing.stream import Batches
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.contracts.small_candidates import text
from tests.factories.small_experiments import WORDS

LENGTH = 10
PIECE = LENGTH - 2
SEEDS = st.integers(0, 2**32 - 1)


def batches(sequences: int) -> Batches:
    """Return batches of a stream whose tokens are their positions."""
    stream = np.arange(sequences * PIECE + 3, dtype=np.uint16) + 10  # three tokens are left over
    return Batches(stream, WORDS, LENGTH)


def numbers(batch: np.ndarray) -> list[int]:
    return [int(first - 10) // PIECE for first in batch[:, 1]]


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 6), SEEDS)
def test_a_larger_batch_sees_the_same_sequences_in_the_same_order(
    sequences: int, batch: int, times: int, seed: int
) -> None:
    made = batches(sequences)
    large = numbers(made.at(2, batch * times, seed).tokens)
    small = [number for step in range(2 * times, 3 * times) for number in numbers(made.at(step, batch, seed).tokens)]
    assert large == small


def test_a_text_shorter_than_one_sequence_is_refused() -> None:
    with pytest.raises(DataError, match="7 tokens"):
        Batches(text(7), WORDS, LENGTH).at(0, 4, 1)
