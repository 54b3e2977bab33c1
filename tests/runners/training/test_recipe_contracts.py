"""Every schedule and optimiser keeps the contracts, those of a plugin too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.training.recipe_contracts import OF_OPTIMISERS, OF_SCHEDULES, recipe_contracts
from search_space.candidate import Candidate
from search_space.optimiser.option import OptimiserOption
from search_space.overrides import apply
from search_space.schedule.option import ScheduleOption
from steeplechase.commands.plugin_contracts import checked
from steeplechase.configuration.plugins import PluginError, load_plugin
from steeplechase.foundation.schema import OpenOption, options_of
from steeplechase.models.contract import Outcome
from tests.factories.plugins import loaded, no_plugins_left

SCHEDULE = '''"""A rate that falls in two steps."""

from typing import Literal

from search_space.schedule.option import ScheduleOption


class Steps(ScheduleOption):
    kind: Literal["steps"] = "steps"

    @property
    def after_warm_up(self) -> str:
        return "then in two steps"

    def horizon(self, total_tokens: int, until_tokens: int) -> int | None:
        return None if 2 * until_tokens <= total_tokens else total_tokens

    def multiplier(self, tokens: int, total_tokens: float) -> float:
        return self.warm_up(tokens) * (1.0 if 2 * tokens <= total_tokens else 0.1)
'''
OPTION = '''"""Sign momentum."""

from typing import ClassVar, Literal

from search_space.optimiser.option import OptimiserOption


class SignMomentum(OptimiserOption):
    adaptive: ClassVar[bool] = False
    kind: Literal["sign_momentum"] = "sign_momentum"
    momentum: float = 0.9
'''
MODULE = '''"""Updates by the sign of a momentum."""

import torch

from runners.training.optimisers.parameter_groups import parameter_groups


class SignMomentum(torch.optim.Optimizer):
    def __init__(self, groups, momentum):
        super().__init__(groups, {"lr": 0.0, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for each in group["params"]:
                held = self.state[each].setdefault("momentum", torch.zeros_like(each))
                held.lerp_(each.grad, 1 - group["momentum"])
                each.mul_(1 - group["lr"] * group["weight_decay"]).sub_(held.sign(), alpha=group["lr"])


def build(model, recipe):
    return SignMomentum(parameter_groups(model.parameters(), recipe.weight_decay), recipe.optimiser.momentum)
'''
FILES = {
    "search_space/schedule/steps.py": SCHEDULE,
    "search_space/optimiser/sign_momentum.py": OPTION,
    "runners/training/optimisers/sign_momentum.py": MODULE,
}


def kinds(axis: type[OpenOption]) -> dict[str, type]:
    return {option.model_fields["kind"].default: option for option in options_of(axis)}


def faults(outcomes: Iterator[Outcome]) -> list[tuple[str, str]]:
    return [(each.contract, each.problem) for each in outcomes if each.problem]


def plugin(folder: Path) -> Path:
    """Write a schedule and an optimiser."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("kind", [*kinds(ScheduleOption), *kinds(OptimiserOption)])
def test_every_option_keeps_every_contract(kind: str) -> None:
    option = {**kinds(ScheduleOption), **kinds(OptimiserOption)}[kind]
    outcomes = [*recipe_contracts(option)]
    contracts = OF_SCHEDULES if issubclass(option, ScheduleOption) else OF_OPTIMISERS
    assert len(outcomes) == len(contracts) * len(option.examples)
    assert faults(iter(outcomes)) == []


def test_options_of_another_folder_are_used_as_if_built_in_and_checked(tmp_path: Path) -> None:
    with loaded(plugin(tmp_path)) as found:
        recipe = apply(Candidate(), {"recipe.optimiser": "sign_momentum", "recipe.schedule": "steps"}).recipe
        assert (recipe.optimiser.kind, recipe.schedule.kind) == ("sign_momentum", "steps")
        assert found.source("search_space.optimiser.sign_momentum").keys() == {
            "search_space.optimiser.sign_momentum",
            "runners.training.optimisers.sign_momentum",
        }
        outcomes = [*checked(found)]
        assert len(outcomes) == len(OF_OPTIMISERS) + 2 * len(OF_SCHEDULES)
        assert not any(each.problem or each.skipped for each in outcomes)


def test_an_optimiser_without_its_module_and_a_file_elsewhere_in_runners_are_refused(tmp_path: Path) -> None:
    folder = plugin(tmp_path)
    (folder / "runners/training/optimisers/sign_momentum.py").rename(folder / "runners/training/loop_of_mine.py")
    with no_plugins_left(), pytest.raises(PluginError, match="outside the mirrored tree"):
        load_plugin(folder)
    (folder / "runners/training/loop_of_mine.py").unlink()
    with (
        no_plugins_left(),
        pytest.raises(PluginError, match=r"without its module; .*sign_momentum.py"),
    ):
        load_plugin(folder)
