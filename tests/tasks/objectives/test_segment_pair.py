"""Objectives on pairs of segments: the sum of losses, padding, and the mechanism: order is learned by order alone."""

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
from tests.factories.small_experiments import WORDS, architecture, batches_of, built, candidate, convolutions, stir

PAIRS: tuple[SegmentPair, ...] = (NextSentencePrediction(), SentenceOrderPrediction(), SentenceStructure())


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
    logits: Tensor = loss.head(model.hidden(model.device_batch(batch, np.random.default_rng(1))))
    return logits


def test_a_pair_without_a_relation_has_no_pair_loss() -> None:
    objective = PAIRS[1]
    model, sequences = model_of(objective), pairs_of(objective)
    stir(model)
    sequences.labels[2:] = UNDEFINED
    batch = model.prepare(sequences, WORDS, np.random.default_rng(1))
    logits = relation_logits(model, batch)[:2]
    expected = torch.nn.functional.cross_entropy(logits, torch.from_numpy(sequences.labels[:2]))
    assert model.losses(model.device_batch(batch, np.random.default_rng(1)))[1].item() == pytest.approx(
        expected.item(), rel=1e-5
    )


def test_the_head_is_counted_once_for_a_sequence() -> None:
    head = segment_pair_head(architecture(convolutions()[0]), 2)
    assert head.operations.multiply_adds == 24 * 24 + 2 * 24
    assert MATMUL.part_flops(head, 1) == MATMUL.part_flops(head, 16) == 2 * head.operations.multiply_adds
