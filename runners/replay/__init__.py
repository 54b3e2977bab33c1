"""Policies of search: who trains next and how far, one file per policy, each a generator of moves.

A policy decides from configurations and observed values alone, so it can be replayed on recorded curves in seconds.
"""

from collections.abc import Mapping

from runners.replay import asha, extrapolate, freeze_thaw, hyperband, progressive_mean, random, successive_halving
from runners.replay import final_score_gp as architecture
from runners.replay.simulation import Policy

RECOMMENDED = "extrapolate"
POLICIES: Mapping[str, Policy] = {
    "architecture": architecture.moves,
    "asha": asha.moves,
    "extrapolate": extrapolate.moves,
    "freeze_thaw": freeze_thaw.moves,
    "hyperband": hyperband.moves,
    "progressive_mean": progressive_mean.moves,
    "random": random.moves,
    "successive_halving": successive_halving.moves,
}

__all__ = ["POLICIES", "RECOMMENDED", "Policy"]
