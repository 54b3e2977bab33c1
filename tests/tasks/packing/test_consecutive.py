"""Consecutive segments: a row continues its row of the batch before, and an epoch predicts every token once."""

from itertools import pairwise

import numpy as np
import pytest

from foundation.errors import DataError
from search_space.objective import LanguageModel
from search_space.packing import Consecutive
from tasks.packing import Text, sequences_of
from tasks.packing.consecutive import ConsecutiveSegments
from tests.factories.small_experiments import WORDS

LENGTH, ROWS = 9, 4


def source(tokens: int) -> ConsecutiveSegments:
    text = Text(np.arange(10, 10 + tokens, dtype=np.uint16), np.empty(0, np.int64), WORDS, LENGTH)
    found = sequences_of(text, LanguageModel(packing=Consecutive()))
    assert isinstance(found, ConsecutiveSegments)
    return found


def test_a_row_continues_with_the_token_at_which_it_ended_and_an_epoch_has_every_token_once() -> None:
    segments = source(20 * 8 + 1)
    assert segments.sequences == 20
    batches = [segments.at(step, ROWS, seed=3) for step in range(5)]
    for one, other in pairwise(batches):
        continued = other.numbers == one.numbers + 1
        assert continued.sum() >= ROWS - 1  # one row may pass the end of the text
        assert (other.tokens[continued, 0] == one.tokens[continued, -1]).all()
    predicted = np.concatenate([batch.tokens[:, 1:].ravel() for batch in batches])
    assert sorted(predicted.tolist()) == list(range(11, 11 + 160))


def test_the_order_is_a_function_of_the_step_and_the_seed() -> None:
    segments = source(400)
    assert (segments.at(7, ROWS, 1).tokens == source(400).at(7, ROWS, 1).tokens).all()
    assert (segments.at(7, ROWS, 1).numbers != segments.at(7, ROWS, 2).numbers).any()
    epochs = segments.sequences // ROWS
    assert (segments.at(0, ROWS, 1).numbers != segments.at(epochs, ROWS, 1).numbers).any()


def test_held_out_segments_are_the_first_in_order() -> None:
    assert source(400).evenly_spaced(6, 1).numbers.tolist() == [*range(6)]


def test_a_text_that_is_too_short_is_one_line() -> None:
    with pytest.raises(DataError) as refusal:
        source(20).at(0, ROWS, 1)
    assert refusal.value.lines == ("the text has 20 tokens; 4 rows need a segment of 8 tokens each",)
