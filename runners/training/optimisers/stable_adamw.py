"""StableAdamW: AdamW with the update clipping of AdaFactor. Wortsman et al. 2023, arXiv 2304.13013, algorithm 2."""

import torch
from torch import Tensor, nn

from runners.training.optimisers.parameter_groups import ParameterGroup, parameter_groups
from search_space.recipe import Recipe


class StableAdamW(torch.optim.Optimizer):
    """AdamW whose learning rate, parameter by parameter, falls where gradients outgrow the second moment."""

    def __init__(self, groups: list[ParameterGroup], betas: tuple[float, float], epsilon: float) -> None:
        super().__init__(groups, {"lr": 0.0, "betas": betas, "eps": epsilon})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            (beta1, beta2), epsilon = group["betas"], group["eps"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                first, second, step = self._moments(parameter, parameter.grad, beta1, beta2)
                second = second / (1 - beta2**step)
                ratio = (parameter.grad.square() / second.clamp(min=epsilon**2)).mean().sqrt_()
                update = (first / (1 - beta1**step)).div_(second.sqrt_().add_(epsilon))
                update.add_(parameter, alpha=group["weight_decay"]).mul_(group["lr"] / ratio.clamp_(min=1))
                parameter.sub_(update)

    def _moments(
        self, parameter: nn.Parameter, gradient: Tensor, beta1: float, beta2: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Advance both moments; return them before bias correction, and the number of the step."""
        state: dict[str, Tensor] = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), device=parameter.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        step = state["step"].add_(1).double()
        first = state["exp_avg"].lerp_(gradient, 1 - beta1)
        return first, state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2), step


def build(model: nn.Module, recipe: Recipe) -> StableAdamW:
    """Return StableAdamW with the recipe's moments; its learning rate is 0 until `set_rate`."""
    groups = parameter_groups(model.parameters(), recipe.weight_decay)
    return StableAdamW(groups, (recipe.adam_beta1, recipe.adam_beta2), recipe.adam_epsilon)
