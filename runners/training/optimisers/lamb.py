"""LAMB: Adam's update of each matrix, with a norm proportional to the matrix's. You et al. 2020, arXiv 1904.00962.

Algorithm 2, with bias correction and without bounds on the norm (phi is the identity). As in its release, what has no
weight decay (normalisations, biases) has no trust ratio: a bias starts at zero and would stay near it.
"""

from typing import Any

import torch
from torch import Tensor, nn

from runners.training.optimisers.parameter_groups import ParameterGroup, parameter_groups
from search_space.recipe import Recipe

TRUST_RATIO = "trust_ratio"
"""Key of a parameter group: whether its updates are scaled to the norm of their parameter."""


class Lamb(torch.optim.Optimizer):
    """LAMB for groups that say whether they have a trust ratio."""

    def __init__(self, groups: list[ParameterGroup], betas: tuple[float, float], epsilon: float) -> None:
        super().__init__(groups, {"lr": 0.0, "betas": betas, "eps": epsilon})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            parameters = [each for each in group["params"] if each.grad is not None]
            if parameters and in_multi_tensor_kernels(parameters):
                self._update_together([*parameters], group)
                continue
            for parameter in parameters:
                update = self._adam_update(parameter, parameter.grad, group)
                update.add_(parameter, alpha=group["weight_decay"])
                if group[TRUST_RATIO]:
                    update.mul_(trust_ratio(parameter, update))
                parameter.sub_(update, alpha=group["lr"])

    def _update_together(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        """Update the parameters of a group in multi-tensor kernels, as one by one; the steps are on the host."""
        states: list[dict[str, Tensor]] = [self.state[each] for each in parameters]
        for parameter, state in zip(parameters, states, strict=True):
            if not state:
                state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
            state["step"] = state.get("step", torch.zeros(())).cpu() + 1
        gradients = [each.grad for each in parameters if each.grad is not None]
        first, second = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq"))
        steps, (beta1, beta2) = [state["step"].item() for state in states], group["betas"]
        torch._foreach_lerp_(first, gradients, 1 - beta1)
        torch._foreach_mul_(second, beta2)
        torch._foreach_addcmul_(second, gradients, gradients, 1 - beta2)
        denominators = torch._foreach_div(second, [1 - beta2**step for step in steps])
        torch._foreach_sqrt_(denominators)
        torch._foreach_add_(denominators, group["eps"])
        updates = torch._foreach_div(first, [1 - beta1**step for step in steps])
        torch._foreach_div_(updates, denominators)
        if group["weight_decay"]:
            torch._foreach_add_(updates, parameters, alpha=group["weight_decay"])
        if group[TRUST_RATIO]:
            own, other = (torch.stack(torch._foreach_norm(each)) for each in (parameters, updates))
            torch._foreach_mul_(updates, [*ratio_of_norms(own, other).unbind()])
        torch._foreach_sub_(parameters, updates, alpha=group["lr"])

    def _adam_update(self, parameter: nn.Parameter, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        """Advance the moments and return their quotient after bias correction."""
        state: dict[str, Tensor] = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), device=parameter.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        step, (beta1, beta2) = state["step"].add_(1).double(), group["betas"]
        first = state["exp_avg"].lerp_(gradient, 1 - beta1)
        second = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        denominator = (second / (1 - beta2**step)).sqrt_().add_(group["eps"])
        update: Tensor = (first / (1 - beta1**step)).div_(denominator)
        return update


def trust_ratio(parameter: Tensor, update: Tensor) -> Tensor:
    """Return the norm of the parameter over the norm of its update, a scalar; 1 where one of them is zero."""
    return ratio_of_norms(torch.linalg.vector_norm(parameter), torch.linalg.vector_norm(update))


def ratio_of_norms(own: Tensor, other: Tensor) -> Tensor:
    """Return the trust ratios of some norms."""
    return torch.where((own > 0) & (other > 0), own / other, 1.0)


def in_multi_tensor_kernels(parameters: list[nn.Parameter]) -> bool:
    """Return whether all tensors are updated by a few kernels: off the processor, where each launch takes time."""
    return parameters[0].device.type != "cpu"


def build(model: nn.Module, recipe: Recipe) -> Lamb:
    """Return LAMB with the recipe's moments; its learning rate is 0 until `set_rate`."""
    matrices, vectors = parameter_groups(model.parameters(), recipe.weight_decay)
    groups = [{**matrices, TRUST_RATIO: True}, {**vectors, TRUST_RATIO: False}]
    return Lamb(groups, (recipe.adam_beta1, recipe.adam_beta2), recipe.adam_epsilon)
