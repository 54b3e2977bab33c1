"""Muon for the matrices of blocks, AdamW for the rest: torch's optimisers as one. Jordan et al. 2024; 2502.16982."""

from typing import Any

import torch
from torch import nn

from runners.training.optimisers.parameter_groups import parameter_groups
from search_space.optimiser import Muon
from search_space.recipe import Recipe


class MuonAndAdamW(torch.optim.Optimizer):
    """Two optimisers of different parameters, whose groups and states are those of this one."""

    def __init__(self, parts: tuple[torch.optim.Optimizer, ...]) -> None:
        self._parts: tuple[torch.optim.Optimizer, ...] = ()
        super().__init__([group for part in parts for group in part.param_groups], {"lr": 0.0})
        self._parts = parts
        self._share()

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for part in self._parts:
            part.step()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the groups and states of a run that is resumed."""
        super().__setstate__(state)
        self._share()

    def _share(self) -> None:
        first = 0
        for part in self._parts:
            last = first + len(part.param_groups)
            part.param_groups, part.state, first = self.param_groups[first:last], self.state, last


def build(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return the recipe's optimiser; its learning rate is 0 until `set_rate`."""
    assert isinstance(recipe.optimiser, Muon)
    names = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    of_blocks = {each for name, each in model.named_parameters() if name in names and ".blocks." in f".{name}"}
    others = parameter_groups((each for each in model.parameters() if each not in of_blocks), recipe.weight_decay)
    betas = (recipe.adam_beta1, recipe.adam_beta2)
    adamw = torch.optim.AdamW(others, lr=0.0, betas=betas, eps=recipe.adam_epsilon, fused=True)
    if not of_blocks:
        return adamw
    matrices = [each for each in model.parameters() if each in of_blocks]
    muon = torch.optim.Muon(
        matrices,
        lr=0.0,
        weight_decay=recipe.weight_decay,
        momentum=recipe.optimiser.momentum,
        adjust_lr_fn="match_rms_adamw",
    )
    return MuonAndAdamW((muon, adamw))
