"""Zero-cost proxies: their formulas on a linear model, and a hurdle that trains the share with the largest."""

import pytest
import torch
from torch import nn

from runners.training.proxies import proxy_named
from steeplechase.configuration.hurdles import ZeroCost
from steeplechase.configuration.hurdles.population import Population, State, TrialView


def test_the_proxies_are_their_formulas() -> None:
    model = nn.Linear(2, 1)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[3.0, -1.0]]))
        model.bias.copy_(torch.tensor([2.0]))
    model(torch.tensor([[1.0, 2.0]])).sum().backward()  # the gradients are [1, 2] and 1
    assert proxy_named("gradient_norm").proxy(model.parameters()) == pytest.approx(5**0.5 + 1)
    assert proxy_named("synaptic_saliency").proxy(model.parameters()) == pytest.approx(3 + 2 + 2)


def test_parameters_without_a_gradient_add_nothing() -> None:
    model = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])
    model[0](torch.ones(1, 2)).sum().backward()
    for name in ("gradient_norm", "synaptic_saliency"):
        proxy = proxy_named(name).proxy
        assert proxy(model.parameters()) == proxy(model[0].parameters()) > 0


@pytest.mark.parametrize(("keep", "trained"), [(0.5, 2), (0.1, 1), (0.75, 3)])
def test_the_largest_proxies_of_a_cohort_pass(keep: float, trained: int) -> None:
    values = {"a": 1.0, "b": 4.0, "c": 3.0, "d": 2.0}  # signed: smaller is better, as of every hurdle
    trials = tuple(TrialView(name, 0, State.WAITING, (-value,)) for name, value in values.items())
    decisions = ZeroCost(keep=keep).decide(Population(trials))
    assert sorted(name for name, each in decisions.items() if each.cleared) == sorted(["b", "c", "d"][:trained])
    assert {each.threshold for each in decisions.values()} == {-sorted(values.values())[-trained]}
    assert all(each.reference_trials == tuple(values) for each in decisions.values())


def test_a_cohort_waits_for_its_last_proxy() -> None:
    waiting, moving = TrialView("a", 0, State.WAITING, (-1.0,)), TrialView("b", 0, State.MOVING)
    assert ZeroCost().decide(Population((waiting, moving))) == {}
