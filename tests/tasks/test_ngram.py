"""The trigram model: probabilities that sum to one, against modified Kneser-Ney written out with dictionaries."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.tasks.references.trigrams import SMALLEST_DISCOUNT, Trigrams

SIZE = 5
STREAMS = st.lists(st.integers(0, SIZE - 1), max_size=80).map(np.asarray)
Gram = tuple[int, ...]


@given(STREAMS, st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
def test_what_follows_any_two_tokens_has_probability_one(stream: np.ndarray, first: int, second: int) -> None:
    found = Trigrams(stream, SIZE).probabilities(np.full(SIZE, first), np.full(SIZE, second), np.arange(SIZE))
    assert found.sum() == pytest.approx(1.0)
    assert (found > 0).all()


@given(st.lists(st.integers(0, SIZE - 1), min_size=3, max_size=80), st.tuples(*[st.integers(0, SIZE - 1)] * 3))
def test_probabilities_are_those_of_the_definition(stream: list[int], gram: tuple[int, int, int]) -> None:
    first, second, third = (np.asarray([token]) for token in gram)
    assert Trigrams(np.asarray(stream), SIZE).probabilities(first, second, third)[0] == pytest.approx(
        written_out(stream, gram)
    )


def written_out(stream: list[int], gram: Gram) -> float:
    """Return p by Chen and Goodman's equation for modified Kneser-Ney, one dictionary per order."""
    trigrams: Counter[Gram] = Counter(zip(stream, stream[1:], stream[2:], strict=False))
    pairs: Counter[Gram] = Counter(gram[1:] for gram in trigrams)
    singles: Counter[Gram] = Counter(gram[1:] for gram in pairs)
    found = 1 / SIZE
    for order, counts in enumerate((singles, pairs, trigrams), start=1):
        found = interpolated(counts, gram[3 - order :], found)
    return found


def interpolated(counts: Counter[Gram], gram: Gram, lower: float) -> float:
    own = {each: count for each, count in counts.items() if each[:-1] == gram[:-1]}
    if not own:
        return lower
    discounts = discounts_of(counts)
    total, taken = sum(own.values()), sum(discounts[min(count, 3)] for count in own.values())
    count = own.get(gram, 0)
    return (count - (discounts[min(count, 3)] if count else 0.0) + taken * lower) / total


def discounts_of(counts: Counter[Gram]) -> list[float]:
    n = Counter(counts.values())
    if not n[1] or not n[2]:
        return [0.0, 0.5, 0.5, 0.5]
    base = n[1] / (n[1] + 2 * n[2])
    three = 3 - 4 * base * n[4] / n[3] if n[3] else 2.0
    raw = [1 - 2 * base * n[2] / n[1], 2 - 3 * base * n[3] / n[2], three]
    return [0.0, *(min(max(each, SMALLEST_DISCOUNT), most) for each, most in zip(raw, (1, 2, 3), strict=True))]
