"""Every objective overfits one small batch; held-out loss is independent of batching."""

from typing import Any

import numpy as np
import pytest
import torch

from runners.training.optimisers.adamw import adamw
from runners.training.optimisers.parameter_groups import set_rate
from search_space.objective import Objective, Supersense
from search_space.objective.auxiliary_loss import AuxiliaryLoss, WithAuxiliaryLosses
from search_space.objective.replaced_tokens import ReplacedTokens
from search_space.objective.segment_pair import SegmentPair
from steeplechase.tasks import evaluation_set as evaluation_set_module
from steeplechase.tasks.objectives import build_model, replaced_token_detection
from steeplechase.tasks.objectives.masked_tokens import MaskedTokenModel
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel
from tests.factories.small_experiments import (
    OBJECTIVES,
    SPAN_DYNAMIC,
    SUPERSENSES,
    WORDS,
    batches_of,
    built,
    candidate,
    evaluation_set_of,
    stir,
    variants,
)
from tests.factories.updates import updates

STEPS, FRACTION = 80, 0.05
every_objective = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.kind)


def batch_of(model: PretrainingModel[Any], objective: Objective, rows: int = 4) -> Any:
    """Return a batch of the objective's own type."""
    sequences = batches_of(objective).at(0, rows, 1)
    return model.prepare(sequences, WORDS, np.random.default_rng(1))


@every_objective
def test_one_batch_is_overfitted(objective: Objective) -> None:
    model = built(candidate(SPAN_DYNAMIC, objective))
    batch = batch_of(model, objective)
    optimiser = adamw(model, 0.0)
    set_rate(optimiser, 1e-2 if objective.packing.pairs else 2e-2)
    losses = []
    for _ in updates(3 * STEPS if objective.kind == "electra_15_percent" else STEPS):
        loss = model.loss(batch, np.random.default_rng(1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if max(losses[-5:]) < FRACTION * losses[0]:
            return
    raise AssertionError(losses[-5:])


def blind_of(auxiliary: AuxiliaryLoss) -> float:
    """Return the loss of a uniform guess."""
    if isinstance(auxiliary, Supersense):
        return 2 * float(np.log(SUPERSENSES.shape[1]))  # where a word has one supersense
    return float(np.log(len(auxiliary.relations) if isinstance(auxiliary, SegmentPair) else WORDS.vocabulary_size))


@every_objective
def test_the_initial_loss_is_that_of_a_uniform_guess(objective: Objective) -> None:
    """Cross-entropy of a uniform guess: ln of the vocabulary size, and ln 2 per classified token."""
    model = built(candidate(SPAN_DYNAMIC, objective)).eval()
    loss = model.loss(batch_of(model, objective, 32), np.random.default_rng(1)).item()
    blind = float(np.log(WORDS.vocabulary_size))
    if objective.kind == "replace_masked_language_model":
        blind *= 2
    elif objective.kind == "all_tokens_masked_language_model":
        copied, missed = np.log(2) - np.log1p(np.exp(-blind)), np.log(2) + blind  # the copy probability is 1/2
        blind += float(copied + objective.predictions(16) / 16 * (missed - copied))
    elif isinstance(objective, ReplacedTokens):
        blind = objective.generator_weight * blind + objective.discriminator_weight * float(np.log(2))
    elif objective.kind == "entity_replacement":
        blind += objective.entity_weight * float(np.log(2))
    elif isinstance(objective, WithAuxiliaryLosses):
        blind += sum(map(blind_of, objective.auxiliary_losses))
    assert loss == pytest.approx(blind, rel=0.02)


@every_objective
@torch.inference_mode()
def test_held_out_losses_are_those_of_their_targets_and_do_not_depend_on_the_batches(
    objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the probability of the target, one row at a time."""
    monkeypatch.setattr(evaluation_set_module, "ROWS_AT_A_TIME", 4)
    learner = candidate(SPAN_DYNAMIC, objective)
    model = built(learner).eval()
    stir(model)
    evaluation_set = evaluation_set_of(learner, 9)
    assert [len(part.inputs) for _, part in evaluation_set.batches()] == [4, 4, 1]
    losses = model.held_out_losses(evaluation_set)
    assert losses.shape == evaluation_set.targets.shape
    for row, of_row in enumerate(losses):
        inputs, positions = (
            torch.from_numpy(each[[row]]) for each in (evaluation_set.inputs, evaluation_set.positions)
        )
        targets = torch.from_numpy(evaluation_set.targets[row])
        if isinstance(model, MaskedTokenModel):
            right = model.predict(inputs, positions).softmax(-1)[torch.arange(len(targets)), targets]
        else:
            assert isinstance(model, replaced_token_detection.Model)
            replaced = model.judge(model.encoder(inputs))[0, positions[0]].sigmoid()
            right = torch.where(targets == 1, replaced, 1 - replaced)
        assert of_row == pytest.approx(-right.log().numpy(), rel=1e-4, abs=1e-6)
    assert model.held_out_loss(evaluation_set) == pytest.approx(losses.mean(), rel=1e-5)
    assert losses.mean(axis=1).std() > 0.01


def test_the_held_out_loss_of_masked_language_modelling_is_its_training_loss() -> None:
    objective = OBJECTIVES[0]
    model = built(candidate(SPAN_DYNAMIC, objective)).eval()
    stir(model)
    masked = batch_of(model, objective, 9)
    loss = model.loss(masked, np.random.default_rng(1)).item()
    assert model.held_out_loss(masked.evaluation_set(np.random.default_rng(1))) == pytest.approx(loss, rel=1e-5)


@every_objective
def test_arms_at_one_seed_have_equal_shared_weights(objective: Objective) -> None:
    """Generator and discriminator head have equal initial weights in every arm, so that comparisons are paired."""
    arms = [candidate(convolution, objective) for convolution in variants()]
    generator = objective.generator_of(arms[0].architecture, arms[0].architecture)
    models = [dict(build_model(arm, generator, 1).named_parameters()) for arm in arms]
    outside = {name for name in models[0] if not name.startswith("encoder.blocks.")}
    assert any(not name.startswith("encoder.") for name in outside)
    for other in models[1:]:
        assert all(torch.equal(models[0][name], other[name]) for name in outside)
