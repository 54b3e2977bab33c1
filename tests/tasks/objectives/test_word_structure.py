"""Word structural objective: runs keep their tokens, the declared share, and a planted order."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from search_space.objective import WordStructure
from search_space.selection.numbering import NONE, NOT_PREDICTED
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryBatch
from steeplechase.tasks.objectives.word_structure import Model, shuffled_runs
from tests.factories.small_experiments import WORDS, batches_of, built, candidate, convolutions, sequences_of, stir

OBJECTIVE = WordStructure(shuffle_rate=0.2)
SPECIAL = (WORDS.pad, WORDS.classify, WORDS.separate)


def model_of(objective: WordStructure = OBJECTIVE) -> Model:
    model = built(candidate(convolutions()[-1], objective)).eval()
    assert isinstance(model, Model)
    return model


def batch_of(rows: int, length: int) -> tuple[np.ndarray, AuxiliaryBatch]:
    """Return the tokens before, and the batch."""
    sequences = batches_of(OBJECTIVE, length).at(0, rows, 1)
    return sequences.tokens, model_of().prepare(sequences, WORDS, np.random.default_rng(1))


def shuffled_of(batch: AuxiliaryBatch) -> MaskedBatch:
    """Return the shuffled tokens, whose predictions are the original ones."""
    (found,) = batch.auxiliary
    assert isinstance(found, MaskedBatch)
    return found


def test_only_shuffled_tokens_change_besides_masked_ones_and_each_run_keeps_its_tokens() -> None:
    before, batch = batch_of(300, 64)
    masked = np.zeros(before.shape, bool)
    rows, columns = np.nonzero(batch.targets != NOT_PREDICTED)
    masked[rows, batch.masked_positions[rows, columns]] = True
    shuffled = np.zeros(before.shape, bool)
    runs = shuffled_of(batch)
    rows, columns = np.nonzero(runs.targets != NOT_PREDICTED)
    shuffled[rows, runs.masked_positions[rows, columns]] = True
    assert not (masked & shuffled).any()
    assert not np.isin(before[shuffled], SPECIAL).any()
    assert (batch.inputs[~masked & ~shuffled] == before[~masked & ~shuffled]).all()
    assert (runs.targets[rows, columns] == before[shuffled]).all()
    assert shuffled.any(axis=1).all()
    for row in range(300):
        assert Counter(batch.inputs[row, shuffled[row]].tolist()) == Counter(before[row, shuffled[row]].tolist())


@pytest.mark.parametrize(("rate", "length"), [(0.05, 3), (0.05, 2), (0.2, 4)])
def test_the_declared_share_of_the_tokens_is_in_runs_of_the_declared_length(rate: float, length: int) -> None:
    random = np.random.default_rng(1)
    tokens = random.integers(5, 40, (4000, 64))
    allowed = random.random(tokens.shape) < 0.97
    runs = shuffled_runs(tokens, allowed, rate, length, random)
    assert (runs != NONE).sum() / allowed.sum() == pytest.approx(rate, rel=0.03)
    assert allowed[runs != NONE].all()
    for row in runs[:200]:
        for run in np.unique(row[row != NONE]):
            assert np.flatnonzero(row == run).tolist() == list(range(run, run + length))


def test_every_permutation_is_equally_likely_and_two_tokens_of_three_move() -> None:
    """The identity is one of the six."""
    tokens = np.tile(np.r_[WORDS.classify, np.arange(5, 35), WORDS.separate], (6000, 1))
    objective = WordStructure(mask_rate=0.01, shuffle_rate=0.1)
    batch = model_of(objective).prepare(sequences_of(tokens), WORDS, np.random.default_rng(1))
    orders: Counter[tuple[int, ...]] = Counter()
    moved = []
    runs = shuffled_of(batch)
    for row in range(6000):
        positions = runs.masked_positions[row][runs.targets[row] != NOT_PREDICTED]
        for run in positions.reshape(-1, 3) if len(positions) == 3 else ():
            shown = batch.inputs[row, run] - tokens[row, run[0]]
            orders[tuple(shown.tolist())] += 1
            moved.append(int((shown != np.arange(3)).sum()))
    assert len(orders) == 6
    assert chisquare(list(orders.values())).pvalue > 1e-3
    assert np.mean(moved) == pytest.approx(2.0, abs=0.05)


def test_equal_tokens_and_too_few_adjacent_ones_are_not_shuffled() -> None:
    random = np.random.default_rng(1)
    same = np.full((50, 30), 7)
    assert (shuffled_runs(same, np.ones_like(same, bool), 0.3, 3, random) == NONE).all()
    apart = np.tile([True, True, False], (50, 10))
    assert (shuffled_runs(random.integers(5, 40, (50, 30)), apart, 0.3, 3, random) == NONE).all()


def test_a_sequence_shorter_than_a_run_has_the_loss_of_masked_tokens_alone() -> None:
    tokens = np.array([[WORDS.classify, 9]])
    model = model_of()
    stir(model)
    batch = model.prepare(sequences_of(tokens), WORDS, np.random.default_rng(1))
    masked, shuffled = model.losses(model.device_batch(batch, np.random.default_rng(1)))
    assert masked.item() > 0
    assert shuffled.item() == 0
