"""Search policies: which candidate trains next and how far. A policy decides from configurations and observed values.

`run` executes a policy on real trials, `replay` on recorded curves.
"""

from collections.abc import Mapping

from runners.policies import hurdle_settings
from runners.policies.evolution import evolutionary
from runners.policies.fixed_budget import fixed_budget
from runners.policies.hurdle_policy import hurdle_policy
from runners.policies.policy import PolicyFactory
from steeplechase.configuration.designs.search import EVOLUTIONARY, Search, Tournament

IN_REPLAY = Tournament(population=16, tournament_size=4, mutation_rate=0.1, initial_population="random")
"""Settings of evolution on recorded curves, this project's: tens of trainings never fill the paper's 100."""
QUARTERS = (1 / 4, 1 / 2, 3 / 4, 1.0)
"""Shares of a training at which progressive hurdles stand on recorded curves, as `progressive_mean`'s do."""
RECOMMENDED = "random"
POLICIES: Mapping[str, PolicyFactory] = {
    "asha": hurdle_policy(hurdle_settings.asha),
    "hyperband": hurdle_policy(hurdle_settings.hyperband),
    "progressive_mean": hurdle_policy(hurdle_settings.progressive_mean),
    "progressive_hurdles": evolutionary("progressive_hurdles", IN_REPLAY, QUARTERS),
    "random": fixed_budget(1.0),
    "successive_halving": hurdle_policy(hurdle_settings.successive_halving),
    "tournament": evolutionary("tournament", IN_REPLAY),
}
"""By name, as replayed."""


def policy_of(design: Search) -> PolicyFactory:
    """Return the policy that a search names, with the search's own settings."""
    assert design.policy is not None
    if design.policy in EVOLUTIONARY:
        return evolutionary(design.policy, design.tournament)
    return POLICIES[design.policy]


__all__ = ["POLICIES", "RECOMMENDED", "PolicyFactory", "policy_of"]
