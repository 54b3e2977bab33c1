"""ELECTRA 15% is replaced token detection with the tokens that are not masked left out of its loss."""

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from search_space.objective import Electra15Percent, ReplacedTokenDetection
from steeplechase.tasks.objectives.replaced_token_detection import Model
from tests.factories.small_experiments import (
    WORDS,
    batches_of,
    built,
    candidate,
    convolutions,
    evaluation_set_of,
    stir,
)

MASKS = {"mask_rate": 0.3, "generator_ratio": 2}
ALL, MASKED = ReplacedTokenDetection(**MASKS), Electra15Percent(**MASKS)


def model_of(objective: ReplacedTokenDetection | Electra15Percent) -> Model:
    model = built(candidate(convolutions()[-1], objective)).eval()
    stir(model)
    assert isinstance(model, Model)
    return model


def test_its_gradient_is_that_of_the_full_loss_with_the_other_tokens_left_out_by_hand() -> None:
    model, full = model_of(MASKED), model_of(ALL)
    batch = model.prepare(batches_of(MASKED).at(0, 8, 1), WORDS, np.random.default_rng(1))
    model.loss(batch, np.random.default_rng(1)).backward()

    def by_hand(logits: torch.Tensor, replaced: torch.Tensor, _: object) -> torch.Tensor:
        weight = torch.zeros_like(logits).scatter(1, torch.from_numpy(batch.masked_positions), 1.0)
        return binary_cross_entropy_with_logits(logits, replaced, weight, reduction="sum") / weight.sum()

    full.discriminator_loss = by_hand  # type: ignore[method-assign, assignment]
    full.loss(batch, np.random.default_rng(1)).backward()
    own, other = (dict(each.named_parameters()) for each in (model, full))
    for name, parameter in own.items():
        torch.testing.assert_close(parameter.grad, other[name].grad, rtol=1e-4, atol=1e-5)


@torch.inference_mode()
def test_its_held_out_losses_are_those_of_the_full_set_at_the_masked_tokens() -> None:
    whole, part = (evaluation_set_of(candidate(convolutions()[-1], objective), 9) for objective in (ALL, MASKED))
    assert (whole.inputs == part.inputs).all()
    assert part.targets.size == 9 * MASKED.predictions(16) < whole.targets.size
    losses = model_of(ALL).held_out_losses(whole)
    expected = np.take_along_axis(losses, part.positions, axis=1)
    assert model_of(MASKED).held_out_losses(part) == pytest.approx(expected, rel=1e-4, abs=1e-6)
    elsewhere = whole.targets.copy()
    np.put_along_axis(elsewhere, part.positions, 0, axis=1)
    assert (elsewhere == 0).all()


def test_its_held_out_loss_is_not_compared_with_that_of_every_token() -> None:
    assert MASKED.evaluation != ALL.evaluation
    assert MASKED.reference == ALL.reference
