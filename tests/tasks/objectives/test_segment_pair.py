"""Objectives on pairs of segments: the sum of losses, padding, and the mechanism: order is learned by order alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from search_space.cost import MATMUL
from search_space.objective import NextSentencePrediction, SentenceOrderPrediction, SentenceStructure
from search_space.objective.segment_pair import SegmentPair, segment_pair_head
from search_space.packing.sequences import UNDEFINED, PairSequences
from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryBatch, AuxiliaryLossModel
from steeplechase.tasks.objectives.segment_pair import SegmentPairLoss
from tests.factories.planted_training import trained
from tests.factories.small_experiments import WORDS, architecture, batches_of, built, candidate, convolutions, stir

PAIRS: tuple[SegmentPair, ...] = (NextSentencePrediction(), SentenceOrderPrediction(), SentenceStructure())
every_pair = pytest.mark.parametrize("objective", PAIRS, ids=lambda objective: objective.kind)


def model_of(objective: SegmentPair) -> AuxiliaryLossModel:
    model = built(candidate(convolutions()[-1], objective))
    assert isinstance(model, AuxiliaryLossModel)
    return model.eval()


def pairs_of(objective: SegmentPair, rows: int = 6) -> PairSequences:
    sequences = batches_of(objective).at(0, rows, 1)
    assert isinstance(sequences, PairSequences)
    return sequences


@torch.inference_mode()
def relation_logits(model: AuxiliaryLossModel, batch: AuxiliaryBatch) -> Tensor:
    (loss,) = model.auxiliary
    assert isinstance(loss, SegmentPairLoss)
    logits: Tensor = loss.head(model.hidden(batch))
    return logits


def without_masks(model: AuxiliaryLossModel, pairs: PairSequences) -> AuxiliaryBatch:
    return replace(model.prepare(pairs, WORDS, np.random.default_rng(1)), inputs=pairs.tokens)


@every_pair
@torch.inference_mode()
def test_padding_changes_nothing(objective: SegmentPair) -> None:
    """Logits of pairs with and without further padding."""
    model = model_of(objective)
    stir(model)
    sequences = pairs_of(objective)
    empty = np.full((6, 5), WORDS.pad)
    padded = PairSequences(
        np.hstack([sequences.tokens, empty]),
        sequences.numbers,
        sequences.epochs,
        1,
        np.hstack([sequences.segments, np.zeros_like(empty)]),
        sequences.labels,
    )
    one, other = (relation_logits(model, without_masks(model, each)) for each in (sequences, padded))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


def test_a_pair_without_a_relation_has_no_pair_loss() -> None:
    objective = PAIRS[1]
    model, sequences = model_of(objective), pairs_of(objective)
    stir(model)
    sequences.labels[2:] = UNDEFINED
    batch = model.prepare(sequences, WORDS, np.random.default_rng(1))
    logits = relation_logits(model, batch)[:2]
    expected = torch.nn.functional.cross_entropy(logits, torch.from_numpy(sequences.labels[:2]))
    assert model.losses(batch)[1].item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_head_is_counted_once_for_a_sequence() -> None:
    head = segment_pair_head(architecture(convolutions()[0]), 2)
    assert head.operations.multiply_adds == 24 * 24 + 2 * 24
    assert MATMUL.part_flops(head, 1) == MATMUL.part_flops(head, 16) == 2 * head.operations.multiply_adds


TOPICS, TOPIC_WORDS, EARLY, LATE = 4, 6, 29, 34


def planted(random: np.random.Generator, rows: int, relation: str) -> PairSequences:
    """Return pairs of sentences whose words tell the topic and the place: early sentences and late ones.

    An early sentence is followed by a late one of its topic. A random B is late too, so that neither place nor order
    tells it from the next one.
    """
    tokens = np.empty((rows, 15), np.int64)
    labels = random.integers(0, 2, rows)
    tokens[:, 0], tokens[:, 7], tokens[:, 14] = WORDS.classify, WORDS.separate, WORDS.separate
    for row, label in enumerate(labels):
        topic = int(random.integers(TOPICS))
        other = (topic + int(random.integers(1, TOPICS))) % TOPICS if relation == "random" and label else topic
        sentences = [5 + each * TOPIC_WORDS + random.integers(0, TOPIC_WORDS, 6) for each in (topic, other)]
        for sentence, (low, high) in zip(sentences, ((EARLY, LATE), (LATE, 39)), strict=True):
            sentence[int(random.integers(6))] = random.integers(low, high)
        first, second = sentences[::-1] if relation == "previous" and label else sentences
        tokens[row, 1:7], tokens[row, 8:14] = first, second
    segments = np.tile([0] * 8 + [1] * 7, (rows, 1))
    return PairSequences(tokens, np.arange(rows), np.zeros(rows, np.int64), 1, segments, labels)


def trained_on_pairs(objective: SegmentPair, seed: int) -> AuxiliaryLossModel:
    model = trained(objective, 32, lambda random: planted(random, 48, objective.relations[1]), seed, steps=200)
    assert isinstance(model, AuxiliaryLossModel)
    return model


@torch.inference_mode()
def accuracy(model: AuxiliaryLossModel, relation: str) -> float:
    """Return the share of pairs that are recognised as `next`, or not, without masks."""
    pairs = planted(np.random.default_rng(99), 1000, relation)
    return float((relation_logits(model, without_masks(model, pairs)).argmax(1).numpy() == pairs.labels).mean())


@pytest.mark.slow
def test_only_sentence_order_prediction_learns_the_order() -> None:
    """Next sentence prediction is solved by the topic and knows nothing of order. ALBERT, table 5."""
    order = trained_on_pairs(SentenceOrderPrediction(pair_weight=5.0, mask_rate=0.1), 1)
    following = trained_on_pairs(NextSentencePrediction(pair_weight=5.0, mask_rate=0.1), 1)
    assert accuracy(order, "previous") > 0.97
    assert accuracy(following, "random") > 0.97
    assert accuracy(following, "previous") == pytest.approx(0.5, abs=0.05)
