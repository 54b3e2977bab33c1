"""Search on recorded curves: policies that decide which candidate trains next and how far.

A policy decides from configurations and observed values alone, so it can be replayed on recorded curves in seconds.
Hurdles are those of `run`, behind a simulated executor; the other policies have a file each.
"""

from collections.abc import Mapping

from runners.replay import extrapolate, final_score_gp, freeze_thaw, hurdle_settings, random
from runners.replay.fixed_budget import fixed_budget
from runners.replay.simulated_executor import hurdle_policy
from runners.replay.simulation import Policy

RECOMMENDED = "extrapolate"
POLICIES: Mapping[str, Policy] = {
    "architecture": final_score_gp.actions,
    "asha": hurdle_policy(hurdle_settings.asha),
    "extrapolate": extrapolate.actions,
    "fixed_half": fixed_budget(1 / 2),
    "fixed_quarter": fixed_budget(1 / 4),
    "freeze_thaw": freeze_thaw.actions,
    "hyperband": hurdle_policy(hurdle_settings.hyperband),
    "progressive_mean": hurdle_policy(hurdle_settings.progressive_mean),
    "random": random.actions,
    "successive_halving": hurdle_policy(hurdle_settings.successive_halving),
}

__all__ = ["POLICIES", "RECOMMENDED", "Policy"]
