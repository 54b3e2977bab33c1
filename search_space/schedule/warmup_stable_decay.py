"""Warm-up, stable, decay (WSD): the peak rate, then a linear decay. Hu et al. 2024, arXiv 2404.06395, section 4.

The decay is linear to zero (Hägele et al. 2024, arXiv 2405.18392, section 3); Hu et al. decay exponentially.
"""

import math
from typing import Annotated, Literal

from pydantic import Field

from search_space.schedule.option import ScheduleOption


class WarmupStableDecaySchedule(ScheduleOption):
    """Linear warm-up, the peak rate, and a linear decay to zero over the last share of the tokens.

    Up to the decay the rate is independent of the budget: a longer budget continues the checkpoint of a rung before.
    """

    kind: Literal["warmup_stable_decay"] = "warmup_stable_decay"
    """Chooses a constant rate with a linear decay over the last tokens."""
    decay_share: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Share of the tokens over which the rate decays to zero. Default: Hu et al.'s 10%."""

    @property
    def after_warm_up(self) -> str:
        """What the rate does after the warm-up, for the text of a recipe."""
        return f"then constant, linearly to 0 over the last {self.decay_share:.0%}"

    def horizon(self, total_tokens: int, until_tokens: int) -> int | None:
        """Return the budget that the rates depend on: None before the decay, all of it after."""
        return None if until_tokens <= self._stable(total_tokens) else total_tokens

    def multiplier(self, tokens: int, total_tokens: float) -> float:
        """Return the share of the peak rate after `tokens` of `total_tokens`."""
        if math.isinf(total_tokens) or tokens <= self._stable(total_tokens):
            return self.warm_up(tokens)
        return self.warm_up(tokens) * max(0.0, total_tokens - tokens) / (self.decay_share * total_tokens)

    def _stable(self, total_tokens: float) -> float:
        return (1.0 - self.decay_share) * total_tokens
