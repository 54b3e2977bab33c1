"""Lion with decoupled weight decay. Chen et al. 2023, Symbolic Discovery, arXiv 2302.06675, Algorithm 2."""

from collections.abc import Callable

import torch
from torch import nn

from runners.training.optimisers.parameter_groups import parameter_groups
from search_space.optimiser.lion import Lion
from search_space.recipe import Recipe


class LionOptimiser(torch.optim.Optimizer):
    """Updates by the sign of `mixed` momentum + (1 - `mixed`) gradient; the momentum keeps `kept` of itself."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                momentum = state.setdefault("momentum", torch.zeros_like(parameter))
                direction = torch.lerp(parameter.grad, momentum, group["mixed"]).sign_()
                parameter.mul_(1 - group["lr"] * group["weight_decay"]).sub_(direction, alpha=group["lr"])
                momentum.lerp_(parameter.grad, 1 - group["kept"])


def build(model: nn.Module, recipe: Recipe) -> LionOptimiser:
    """Return Lion with the option's shares; its learning rate is 0 until `set_rate`."""
    option = recipe.optimiser
    assert isinstance(option, Lion)
    groups = parameter_groups(model.parameters(), recipe.weight_decay)
    return LionOptimiser(groups, {"lr": 0.0, "weight_decay": 0.0, "mixed": option.mixed, "kept": option.kept})
