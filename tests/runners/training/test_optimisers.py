"""Optimisers: their equations in float64, what has weight decay, and resumed runs; and gradient accumulation."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from runners.training.loop import accumulate_gradients
from runners.training.optimisers import build_optimiser, lamb
from runners.training.optimisers.lamb import trust_ratio
from runners.training.optimisers.parameter_groups import parameter_groups, set_rate
from search_space.candidate import Candidate
from search_space.objective import Objective
from search_space.optimiser import Adam, AdamW, Lamb, Muon, Sgd, StableAdamW
from search_space.optimiser.option import OptimiserOption
from search_space.recipe import Recipe
from steeplechase.foundation.randomness import stream
from steeplechase.tasks.objectives import build_model
from tests.factories.small_experiments import OBJECTIVES, WORDS, candidate, convolutions
from tests.factories.training_data import Run, lesson

BETA1, BETA2, EPSILON, DECAY, STEPS = 0.8, 0.95, 1e-4, 0.1, 7
EACH: list[OptimiserOption] = [AdamW(), Adam(), Sgd(), Sgd(momentum=0.0), Lamb(), StableAdamW(), Muon()]
every_optimiser = pytest.mark.parametrize("optimiser", EACH, ids=str)


def recipe_with(optimiser: OptimiserOption) -> Recipe:
    moments = {"adam_beta1": BETA1, "adam_beta2": BETA2, "adam_epsilon": EPSILON} if optimiser.adaptive else {}
    return Recipe(optimiser=optimiser, weight_decay=DECAY, **moments)  # type: ignore[arg-type]


class OneLayer(nn.Module):
    """A matrix and a vector in float64."""

    def __init__(self) -> None:
        super().__init__()
        values = np.random.default_rng(3)
        self.matrix = nn.Parameter(torch.from_numpy(values.normal(size=(4, 3))))
        self.vector = nn.Parameter(torch.from_numpy(values.normal(size=4)))


def by_equations(
    optimiser: OptimiserOption, x: np.ndarray, gradients: list[np.ndarray], rates: list[float]
) -> np.ndarray:
    """Return a parameter after the updates, by the equations of the papers."""
    decay = DECAY if x.ndim > 1 else 0.0
    m, v, buffer = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for t, (g, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        if isinstance(optimiser, Sgd):
            buffer = optimiser.momentum * buffer + g + decay * x
            x = x - rate * buffer
            continue
        direction = g + decay * x if isinstance(optimiser, Adam) else g
        m, v = BETA1 * m + (1 - BETA1) * direction, BETA2 * v + (1 - BETA2) * direction**2
        r = (m / (1 - BETA1**t)) / (np.sqrt(v / (1 - BETA2**t)) + EPSILON)
        update = r if isinstance(optimiser, Adam) else r + decay * x
        if isinstance(optimiser, StableAdamW):
            update /= max(1.0, np.sqrt((g**2 / np.maximum(v / (1 - BETA2**t), EPSILON**2)).mean()))
        trusted = isinstance(optimiser, Lamb) and x.ndim > 1
        x = x - rate * update * (np.linalg.norm(x) / np.linalg.norm(update) if trusted else 1.0)
    return x


@every_optimiser
def test_updates_are_those_of_the_equations(optimiser: OptimiserOption) -> None:
    model, values = OneLayer(), np.random.default_rng(4)
    built = build_optimiser(model, recipe_with(optimiser))
    rates = [0.02 * (step + 1) for step in range(STEPS)]
    gradients = {name: [values.normal(size=p.shape) for _ in rates] for name, p in model.named_parameters()}
    expected = {
        name: by_equations(optimiser, p.detach().numpy().copy(), gradients[name], rates)
        for name, p in model.named_parameters()
    }
    for step, rate in enumerate(rates):
        for name, parameter in model.named_parameters():
            parameter.grad = torch.from_numpy(gradients[name][step].copy())
        set_rate(built, rate)
        built.step()
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(parameter.detach().numpy(), expected[name], rtol=1e-12)


def test_lamb_in_multi_tensor_kernels_has_the_updates_of_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its state can be loaded by either: a run may go on on another device."""
    runs = [Run.started(with_lamb(), seed=1) for _ in range(2)]
    runs[0].train(0, 3)
    monkeypatch.setattr(lamb, "in_multi_tensor_kernels", lambda parameters: True)
    runs[1].train(0, 3)
    one, other = (run.state() for run in runs)
    assert one.keys() == other.keys()
    for name, value in one.items():
        torch.testing.assert_close(other[name], value, rtol=1e-5, atol=1e-7)


def with_lamb() -> Candidate:
    learner = candidate(convolutions()[-1], OBJECTIVES[0], 0.0)
    return learner.model_copy(update={"recipe": learner.recipe.model_copy(update={"optimiser": Lamb()})})


def test_muon_moves_the_maps_of_blocks_as_torch_does_and_the_rest_as_adamw() -> None:
    """Bit by bit over several updates, also from the state of a run that is resumed."""
    learner = candidate(convolutions()[-1], OBJECTIVES[0], 0.0)
    model, other = (build_model(learner, None, 1).double() for _ in range(2))
    built = build_optimiser(model, recipe_with(Muon()))
    maps = {f"{name}.weight" for name, each in other.named_modules() if isinstance(each, nn.Linear)}
    of_blocks = [each for name, each in other.named_parameters() if ".blocks." in name and name in maps]
    rest = [each for each in other.parameters() if all(each is not one for one in of_blocks)]
    theirs = [
        torch.optim.Muon(of_blocks, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(parameter_groups(rest, DECAY), betas=(BETA1, BETA2), eps=EPSILON, fused=True),
    ]
    values = np.random.default_rng(4)
    for step in range(4):
        for one, two in zip(model.parameters(), other.parameters(), strict=True):
            one.grad = torch.from_numpy(values.normal(size=one.shape))
            two.grad = one.grad.clone()
        for each in (built, *theirs):
            set_rate(each, 0.01 * (step + 1))
            each.step()
        resumed = build_optimiser(model, recipe_with(Muon()))
        resumed.load_state_dict(built.state_dict())
        built = resumed
    for (name, one), two in zip(model.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two), name
    assert len(of_blocks) > 4


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_a_trusted_update_is_proportional_to_the_matrix_whatever_the_scales(own: float, update: float) -> None:
    """LAMB's step relative to its matrix is invariant to the scale of the matrix and of its update."""
    values = np.random.default_rng(5)
    x, u = (torch.from_numpy(values.normal(size=(4, 3))) for _ in range(2))
    ratio = trust_ratio(x * own, u * update)
    assert (ratio * u * update).norm().item() == pytest.approx((x * own).norm().item(), rel=1e-9)


@pytest.mark.parametrize("zero", [0, 1])
def test_the_trust_ratio_of_a_zero_is_one(zero: int) -> None:
    pair = [torch.ones(2, 2), torch.ones(2, 2) * 3]
    pair[zero] = torch.zeros(2, 2)
    assert trust_ratio(*pair) == 1


@pytest.mark.parametrize("field", ["adam_beta1", "adam_beta2", "adam_epsilon"])
def test_a_moment_of_an_optimiser_without_moments_is_refused(field: str) -> None:
    (violation,) = Recipe.model_validate({"optimiser": "sgd", field: 0.5}).violations()
    assert violation.path == (field,)
    assert [*Recipe.model_validate({"optimiser": "lamb", field: 0.5}).violations()] == []


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.kind)
def test_accumulated_gradients_are_those_of_the_whole_batch(objective: Objective) -> None:
    """Micro-batches of unequal sizes: 8 sequences are 3, 3 and 2.

    The samples of the generator are drawn in float32, and so are its losses.
    """
    learner = candidate(convolutions()[-1], objective, 0.0)
    gradients, losses = [], []
    for count in (1, 3):
        generator = objective.generator_of(learner.architecture, learner.architecture)
        model = build_model(learner, generator, 1).double()
        batch = model.prepare(lesson(learner).batches.at(0, 8, 1), WORDS, stream(1, "masking"))
        recipe = learner.recipe.model_copy(update={"micro_batches": count})
        losses.append(accumulate_gradients(model, batch, recipe, stream(1, "sampling"))[0].item())
        gradients.append({name: value.grad for name, value in model.named_parameters() if value.grad is not None})
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        assert (gradients[1][name] - gradient).abs().max() < 1e-6 * gradient.abs().max().clamp(min=1)


def test_more_micro_batches_than_sequences_are_refused() -> None:
    (violation,) = Recipe(batch_sequences=4, micro_batches=5).violations()
    assert violation.path == ("micro_batches",)
