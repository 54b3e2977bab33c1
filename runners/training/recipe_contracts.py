"""Contracts of schedules and optimisers: what a declaration promises of the updates. They hold for plugins too."""

import math
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from itertools import product

import torch
from torch import Tensor, nn

from runners.training.optimisers import build_optimiser
from runners.training.optimisers.parameter_groups import set_rate
from search_space.optimiser.option import OptimiserOption
from search_space.recipe import Recipe
from search_space.schedule.option import ScheduleOption
from steeplechase.foundation.schema import OpenOption
from steeplechase.models.contract import Broken, Outcome, outcomes_at_examples, outcomes_of, survives_json

BUDGETS = (64, 1_000, 10**6, 10**9)
"""Tokens at which a schedule is checked, beside those of its warm-up."""
SHARES = (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
"""Of a budget."""
UPDATES, RATE, LOWERED = 50, 1e-2, 0.98
"""Updates of a small model, and the share of its first loss that the last one is below."""
OTHER_MOMENT = 0.5


def recipe_contracts(kind: type[ScheduleOption] | type[OptimiserOption]) -> Iterator[Outcome]:
    """Return the outcome of every contract of a schedule or an optimiser at each of its examples."""
    return outcomes_at_examples(kind, _outcomes)


def _outcomes(option: OpenOption, title: str) -> Iterator[Outcome]:
    field = "schedule" if isinstance(option, ScheduleOption) else "optimiser"
    violations = Recipe.model_validate({field: option}).violations()
    violation = next((each for each in violations if each.path[0] == field), None)
    if violation is not None:
        yield Outcome(title, "loaded", skipped=f"a recipe with it breaks a rule: {violation.message}")
    elif isinstance(option, ScheduleOption):
        yield from outcomes_of(OF_SCHEDULES, option, title)
    elif isinstance(option, OptimiserOption):
        yield from outcomes_of(OF_OPTIMISERS, option, title)


def rate_is_a_share_of_the_peak(schedule: ScheduleOption) -> None:
    """Check that every multiplier is from 0 to 1, with a budget and without one."""
    for tokens, budget in product(_tokens(schedule), (*_budgets(schedule), math.inf)):
        share = schedule.multiplier(tokens, budget)
        if not 0 <= share <= 1:
            raise Broken(f"the multiplier after {tokens:,} of {budget:,} tokens is {share:g}; allowed: 0 to 1")


def every_update_has_a_rate(schedule: ScheduleOption) -> None:
    """Check that no update within the budget has a rate of 0."""
    recipe = Recipe(sequence_length=8, batch_sequences=1, schedule=schedule)
    for budget in _budgets(schedule):
        last = recipe.steps(budget) - 1
        for step in {0, last // 2, last}:
            if not recipe.rate_at(step, budget) > 0:
                raise Broken(f"update {step + 1:,} of {last + 1:,} has a rate of 0")


def horizon_is_what_the_rates_depend_on(schedule: ScheduleOption) -> None:
    """Where `horizon` is None, a longer budget continues a checkpoint, so that its rates must be equal."""
    for budget, share in product(_budgets(schedule), SHARES):
        until = int(share * budget)
        horizon = schedule.horizon(budget, until)
        if horizon not in (None, budget):
            raise Broken(f"horizon({budget:,}, {until:,}) is {horizon}; allowed: None and the budget")
        for tokens, longer in product((0, until // 2, until), (2 * budget, math.inf)):
            own, other = schedule.multiplier(tokens, budget), schedule.multiplier(tokens, longer)
            if horizon is None and own != other:
                raise Broken(
                    f"horizon({budget:,}, {until:,}) is None, and after {tokens:,} tokens the multiplier is {own:g} "
                    f"with this budget and {other:g} with {longer:,}"
                )


def nothing_moves_at_a_rate_of_zero(optimiser: OptimiserOption) -> None:
    """Check that a step before `set_rate` changes no parameter."""
    model, built = _started(optimiser)
    before = _values(model)
    _update(model, built)
    if not torch.equal(before, _values(model)):
        raise Broken("a step at a learning rate of 0 changes parameters; groups begin with lr 0.0, decay included")


def every_parameter_moves(optimiser: OptimiserOption) -> None:
    """Check that every parameter is in one group, and is changed by an update."""
    model, built = _started(optimiser)
    grouped = [id(each) for group in built.param_groups for each in group["params"]]
    if sorted(grouped) != sorted(map(id, model.parameters())):
        raise Broken(f"{len(grouped)} parameters in groups, {len([*model.parameters()])} in the model")
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    set_rate(built, RATE)
    _update(model, built)
    still = [name for name, each in model.named_parameters() if torch.equal(each, before[name])]
    if still:
        raise Broken(f"not changed by an update: {', '.join(still)}")


def loss_falls(optimiser: OptimiserOption) -> None:
    """Check that updates lower the loss of a small regression."""
    model, built = _started(optimiser)
    set_rate(built, RATE)
    losses = [_update(model, built) for _ in range(UPDATES)]
    if not losses[-1] < LOWERED * losses[0]:
        raise Broken(f"the loss is {losses[0]:.4g} at first and {losses[-1]:.4g} after {UPDATES} updates at {RATE}")


def state_is_the_whole_state(optimiser: OptimiserOption) -> None:
    """Check that a run resumed from `state_dict` has the weights of an uninterrupted one, bit by bit."""
    (model, built), (other, resumed) = _started(optimiser), _started(optimiser)
    set_rate(built, RATE)
    for _ in range(3):
        _update(model, built)
    other.load_state_dict(model.state_dict())
    resumed.load_state_dict(deepcopy(built.state_dict()))
    for _ in range(3):
        _update(model, built)
        _update(other, resumed)
    if not torch.equal(_values(model), _values(other)):
        raise Broken("a run resumed from state_dict() has other weights than an uninterrupted one")


def moments_are_those_declared(optimiser: OptimiserOption) -> None:
    """Check that `recipe.adam_beta1` changes the updates if `adaptive` is True, and only then."""
    weights = []
    for beta in (Recipe.model_fields["adam_beta1"].default, OTHER_MOMENT):
        model, built = _started(optimiser, adam_beta1=beta)
        set_rate(built, RATE)
        for _ in range(3):
            _update(model, built)
        weights.append(_values(model))
    changed = not torch.equal(*weights)
    if changed != optimiser.adaptive:
        raise Broken(
            f"adaptive is {optimiser.adaptive}, and adam_beta1 {'changes' if changed else 'does not change'} updates"
        )


def weight_decay_is_used(optimiser: OptimiserOption) -> None:
    """Check that `recipe.weight_decay` changes matrices and no vector."""
    models = []
    for decay in (0.0, 0.5):
        model, built = _started(optimiser, weight_decay=decay)
        set_rate(built, RATE)
        _update(model, built)
        models.append(dict(model.named_parameters()))
    for name, parameter in models[0].items():
        changed = not torch.equal(parameter, models[1][name])
        if changed != (parameter.ndim > 1):
            kind, verb = ("matrix", "does not change") if parameter.ndim > 1 else ("vector", "changes")
            raise Broken(f"weight_decay {verb} the {kind} {name}; parameter_groups() makes the groups")


OF_SCHEDULES: Mapping[str, Callable[[ScheduleOption], None]] = {
    "the declaration survives JSON": survives_json,
    "a rate is a share of the peak": rate_is_a_share_of_the_peak,
    "every update has a rate above 0": every_update_has_a_rate,
    "rates depend on the declared horizon alone": horizon_is_what_the_rates_depend_on,
}
"""By name."""

OF_OPTIMISERS: Mapping[str, Callable[[OptimiserOption], None]] = {
    "the declaration survives JSON": survives_json,
    "nothing moves before a rate is set": nothing_moves_at_a_rate_of_zero,
    "an update changes every parameter": every_parameter_moves,
    "updates lower a loss": loss_falls,
    "state_dict is the whole state": state_is_the_whole_state,
    "moments are used as declared": moments_are_those_declared,
    "weight decay is of matrices alone": weight_decay_is_used,
}
"""By name."""


def _budgets(schedule: ScheduleOption) -> tuple[int, ...]:
    return (*BUDGETS, *(budget for budget in (schedule.warmup_tokens, 3 * schedule.warmup_tokens) if budget >= 8))


def _tokens(schedule: ScheduleOption) -> list[int]:
    return sorted({int(share * budget) for share, budget in product(SHARES, _budgets(schedule))})


def _started(optimiser: OptimiserOption, **settings: float) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a small model, the same each time, with its optimiser."""
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    recipe = Recipe.model_validate({"optimiser": optimiser, **settings})
    return model, build_optimiser(model, recipe)


def _update(model: nn.Module, optimiser: torch.optim.Optimizer) -> float:
    """Do one update on data that never change; return the loss before it."""
    generator = torch.Generator().manual_seed(2)
    inputs, targets = (torch.randn(32, width, generator=generator) for width in (6, 3))
    optimiser.zero_grad()
    loss = (model(inputs) - targets).square().mean()
    loss.backward()
    optimiser.step()
    return float(loss.item())


def _values(model: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach().clone()
