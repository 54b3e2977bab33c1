"""Replaced token detection: sampled tokens, targets of the discriminator, and flow of gradients."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from search_space.objective import ReplacedTokenDetection
from search_space.packing.stream import Batches
from steeplechase.tasks.contracts.small_candidates import text
from steeplechase.tasks.masking import MaskedBatch, mask
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.replaced_token_detection import Model
from tests.factories.small_experiments import SPAN_DYNAMIC, WORDS, candidate, convolutions, stir

CERTAIN = 12  # the token that the generator of some tests always samples
VERDICT = 1.5  # the constant logit of the discriminator in some tests


def built(objective: ReplacedTokenDetection) -> Model:
    learner = candidate(SPAN_DYNAMIC, objective)
    model = build_model(learner, objective.generator_of(learner.architecture, learner.architecture), 1)
    assert isinstance(model, Model)
    return model.eval()


def masked_batch() -> MaskedBatch:
    batch = Batches(text(), WORDS, 16).at(0, 8, 1)
    return mask(batch, ReplacedTokenDetection(), WORDS, np.random.default_rng(1))


def seen_by_the_judge(model: Model, batch: MaskedBatch) -> Tensor:
    seen: list[Tensor] = []
    handle = model.encoder.register_forward_pre_hook(lambda _, given: seen.append(given[0].clone()))
    model.loss(batch, np.random.default_rng(1))
    handle.remove()
    return seen[0]


def test_only_the_masked_positions_are_replaced() -> None:
    model, batch = built(ReplacedTokenDetection()), masked_batch()
    filled = seen_by_the_judge(model, batch).numpy()
    elsewhere = np.ones(filled.shape, dtype=bool)
    np.put_along_axis(elsewhere, batch.masked_positions, False, 1)
    assert (filled[elsewhere] == batch.inputs[elsewhere]).all()
    assert (filled[~elsewhere] != WORDS.mask).mean() > 0.9  # an untrained generator seldom says [MASK]


def test_a_certain_generator_samples_its_token() -> None:
    model, batch = certain_model(ReplacedTokenDetection()), masked_batch()
    filled = seen_by_the_judge(model, batch).numpy()
    assert (np.take_along_axis(filled, batch.masked_positions, 1) == CERTAIN).all()


def certain_model(objective: ReplacedTokenDetection) -> Model:
    """Return a model whose generator always samples one token and whose discriminator has a constant logit."""
    model = built(objective)
    with torch.no_grad():
        model.generator_head.words.bias[CERTAIN] = 1000.0
        model.judge.verdict.weight.zero_()
        model.judge.verdict.bias.fill_(VERDICT)
    return model


@pytest.mark.parametrize("right", [0, 1, 2])
def test_a_correct_sample_counts_as_original(right: int) -> None:
    """Of two masked positions per row, `right` have the generator's token as original; the others are replaced."""
    model, batch = certain_model(ReplacedTokenDetection(generator_weight=1e-12)), masked_batch()
    targets = np.full_like(batch.targets, CERTAIN + 1)
    targets[:, :right] = CERTAIN
    assert targets.shape[1] == 2
    loss = model.loss(replace(batch, targets=targets), np.random.default_rng(1)).item()
    replaced = (2 - right) / 16
    said_replaced, said_original = math.log1p(math.exp(-VERDICT)), math.log1p(math.exp(VERDICT))
    assert loss == pytest.approx(50 * (replaced * said_replaced + (1 - replaced) * said_original), rel=1e-5)


def gradients(discriminator_weight: float) -> dict[str, Tensor]:
    model = built(ReplacedTokenDetection(discriminator_weight=discriminator_weight, generator_ratio=2))
    stir(model)
    model.loss(masked_batch(), np.random.default_rng(1)).backward()
    return {name: value.grad for name, value in model.named_parameters() if value.grad is not None}


def test_the_discriminators_gradient_reaches_only_the_shared_embeddings_of_the_generator() -> None:
    light, heavy = gradients(1e-3), gradients(50.0)
    same = {name for name in light if torch.equal(light[name], heavy[name])}
    assert same == {name for name in light if name.startswith(("generator.", "generator_head."))}
    assert {name for name in light if name.startswith("encoder.embeddings.")}


def test_generator_and_encoder_share_the_embeddings_only() -> None:
    model = built(ReplacedTokenDetection(generator_ratio=2))
    parts = (model.generator, model.encoder, model.encoder.embeddings)
    generator, encoder, embeddings = ({id(value) for value in part.parameters()} for part in parts)
    assert generator & encoder == embeddings


def test_the_baselines_generator_has_the_embedding_sizes_of_the_arm() -> None:
    baseline = candidate(convolutions()[0], ReplacedTokenDetection())
    sizes = {"embedding_width": 20, "vocabulary_size": 60, "positions": 20, "segments": 1}
    arm = baseline.model_copy(update={"architecture": baseline.architecture.model_copy(update=sizes)})
    generator = arm.objective.generator_of(arm.architecture, baseline.architecture)
    assert build_model(arm, generator, 1).loss(masked_batch(), np.random.default_rng(1)).isfinite()
