"""Cosine decay to zero after the warm-up. Loshchilov and Hutter 2017, arXiv 1608.03983, eq. 5, without restarts."""

import math
from typing import Literal

from search_space.schedule.option import ScheduleOption


class CosineSchedule(ScheduleOption):
    """Linear warm-up, then half a cosine from the peak to zero at the last token (GPT, Transformer-XL)."""

    kind: Literal["cosine"] = "cosine"
    """Chooses cosine decay to zero at the last token."""

    @property
    def after_warm_up(self) -> str:
        """What the rate does after the warm-up, for the text of a recipe."""
        return "then by half a cosine to 0"

    def horizon(self, total_tokens: int, until_tokens: int) -> int | None:
        """Return the budget that the rates depend on: None within the warm-up, all of it after."""
        return None if until_tokens <= min(self.warmup_tokens, total_tokens) else total_tokens

    def multiplier(self, tokens: int, total_tokens: float) -> float:
        """Return the share of the peak rate after `tokens` of `total_tokens`."""
        if tokens <= self.warmup_tokens:
            return self.warm_up(tokens)
        progress = (tokens - self.warmup_tokens) / max(1.0, total_tokens - self.warmup_tokens)
        return (1.0 + math.cos(math.pi * min(1.0, progress))) / 2
