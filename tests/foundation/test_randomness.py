"""Randomness is a named stream: equal names give equal numbers, different names different ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.foundation.randomness import stream, stream_seed

SEEDS = st.integers(0, 2**32 - 1)
PURPOSES = st.sampled_from(("order", "masking", "dropout", "held-out masking"))
NAMES = st.tuples(SEEDS, PURPOSES, st.lists(st.integers(0, 10**6), max_size=2).map(tuple))
Name = tuple[int, str, tuple[int, ...]]


@given(NAMES)
def test_the_same_name_gives_the_same_numbers_independent_of_earlier_draws(name: Name) -> None:
    seed, purpose, indices = name
    np.random.seed(0)
    first = stream(seed, purpose, *indices).random(4)
    stream(seed, "another purpose").random(9)
    np.random.seed(1)
    assert (stream(seed, purpose, *indices).random(4) == first).all()


@given(NAMES, NAMES)
def test_two_names_give_two_seeds(one: Name, other: Name) -> None:
    seeds = [stream_seed(seed, purpose, *indices) for seed, purpose, indices in (one, other)]
    assert (seeds[0] == seeds[1]) == (one == other)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_numbers_of_a_stream_do_not_change() -> None:
    """Every stored result was made with them; where they change, so must every stage's `code_version`."""
    assert stream_seed(1, "masking", 0) == 7363586040191777294
    assert stream(1, "order", 0).permutation(8).tolist() == [7, 6, 4, 1, 3, 2, 5, 0]
