"""ASHA and Hyperband of Optuna, Ray Tune and, where it is installed, Syne Tune, as policies of the replay.

The libraries' own objects decide (Optuna's pruners, Ray Tune's and Syne Tune's schedulers), with one worker; each is
wrapped as a policy, with the same simulation, costs and order of candidates. They have their defaults except η = 3
and a first rung at the first point, as in the replayed hurdles. `benchmarks/replay_generalisation.py` prints them.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import optuna
from ray.tune.experiment import Trial as RayTrial
from ray.tune.schedulers import ASHAScheduler

from runners.policies import PolicyFactory
from runners.policies.hurdle_settings import REDUCTION_FACTOR
from runners.policies.policy import Action, View

DIVERGED = 1e12  # reported to the peers in place of an infinite loss


class Sequential:
    """A generator of actions as a policy; it resumes when the result of its last action is in the view."""

    def __init__(self, actions: Iterator[Action]) -> None:
        self._actions = actions
        self._waiting = False

    def next_action(self) -> Action | None:
        """Return the generator's next action, None while the last one is in training or after the end."""
        if self._waiting:
            return None
        action = next(self._actions, None)
        self._waiting = action is not None
        return action

    def observe(self, candidate: int) -> None:
        """Let the generator resume at the next question."""
        self._waiting = False


def sequential(actions: Callable[[View, np.random.Generator], Iterator[Action]]) -> PolicyFactory:
    """Return the policy of a generator function."""
    return lambda view, generator: Sequential(actions(view, generator))


def optuna_policy(pruner: Callable[[int], Any]) -> PolicyFactory:
    """Return the policy of an Optuna pruner, consulted after every point."""

    def actions(view: View, generator: np.random.Generator) -> Iterator[Action]:
        end = len(view.costs)
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), pruner=pruner(end))
        for candidate in range(len(view.reached)):
            trial = study.ask()
            for points in range(1, end + 1):
                yield Action(candidate, points)
                value = float(view.observed[candidate, points - 1])
                trial.report(min(value, DIVERGED), points)
                if np.isinf(value) or trial.should_prune():
                    study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                    break
            else:
                study.tell(trial, float(view.observed[candidate, end - 1]))

    return sequential(actions)


def ray_policy(brackets: int) -> PolicyFactory:
    """Return the policy of Ray Tune's ASHAScheduler, consulted after every point."""

    def actions(view: View, generator: np.random.Generator) -> Iterator[Action]:
        end = len(view.costs)
        scheduler = ASHAScheduler(
            metric="value",
            mode="min",
            max_t=end,
            grace_period=1,
            reduction_factor=REDUCTION_FACTOR,
            brackets=brackets,
        )
        for candidate in range(len(view.reached)):
            trial = RayTrial("replayed", stub=True)
            scheduler.on_trial_add(None, trial)
            for points in range(1, end + 1):
                yield Action(candidate, points)
                value = min(float(view.observed[candidate, points - 1]), DIVERGED)
                result = {"training_iteration": points, "value": value}
                if scheduler.on_trial_result(None, trial, result) != ASHAScheduler.CONTINUE or value == DIVERGED:
                    break
            scheduler.on_trial_complete(None, trial, result)

    return sequential(actions)


def _halving(end: int) -> Any:
    return optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=REDUCTION_FACTOR)


def _hyperband(end: int) -> Any:
    return optuna.pruners.HyperbandPruner(min_resource=1, max_resource=end, reduction_factor=REDUCTION_FACTOR)


def syne_tune_policy() -> PolicyFactory:
    """Return the policy of Syne Tune's asynchronous successive halving, which stops and never promotes."""
    asha = import_module("syne_tune.optimizer.schedulers.asha").AsynchronousSuccessiveHalving
    trial_type = import_module("syne_tune.backend.trial_status").Trial
    uniform = import_module("syne_tune.config_space").uniform

    def actions(view: View, generator: np.random.Generator) -> Iterator[Action]:
        end = len(view.costs)
        scheduler = asha(
            {"x": uniform(0.0, 1.0)}, "value", max_t=end, reduction_factor=REDUCTION_FACTOR, random_seed=0
        )
        for candidate in range(len(view.reached)):
            trial = trial_type(candidate, {"x": 0.5}, datetime.min)
            scheduler.on_trial_add(trial)
            for points in range(1, end + 1):
                yield Action(candidate, points)
                value = min(float(view.observed[candidate, points - 1]), DIVERGED)
                decision = scheduler.on_trial_result(trial, {"training_iteration": points, "value": value})
                if decision == "STOP" or value == DIVERGED:
                    break

    return sequential(actions)


def peers() -> dict[str, PolicyFactory]:
    """Return the policies of the libraries that are installed."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    known = {
        "optuna SuccessiveHalvingPruner": optuna_policy(_halving),
        "optuna HyperbandPruner": optuna_policy(_hyperband),
        "ray ASHAScheduler": ray_policy(1),
        "ray ASHAScheduler, 3 brackets": ray_policy(3),
    }
    if find_spec("syne_tune"):
        known["syne_tune AsynchronousSuccessiveHalving"] = syne_tune_policy()
    return known
