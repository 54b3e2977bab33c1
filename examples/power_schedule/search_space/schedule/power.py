"""Decay by a power of what is left of the training, (1 - progress)^power; at 1 linear, as in BERT."""

from typing import Literal

from pydantic import Field

from search_space.schedule.option import ScheduleOption


class PowerSchedule(ScheduleOption):
    """Linear warm-up, then the peak rate times a power of the share of the tokens that are left."""

    kind: Literal["power"] = "power"
    """Chooses decay by a power."""
    power: float = Field(default=2.0, gt=0)
    """Exponent of the share that is left."""

    @property
    def after_warm_up(self) -> str:
        """What the rate does after the warm-up, for the text of a recipe."""
        return f"then by (1 - progress)^{self.power:g} to 0"

    def horizon(self, total_tokens: int, until_tokens: int) -> int | None:
        """Return the budget that the rates depend on: None within the warm-up, all of it after."""
        return None if until_tokens <= min(self.warmup_tokens, total_tokens) else total_tokens

    def multiplier(self, tokens: int, total_tokens: float) -> float:
        """Return the share of the peak rate after `tokens` of `total_tokens`."""
        if tokens <= self.warmup_tokens:
            return self.warm_up(tokens)
        progress = (tokens - self.warmup_tokens) / max(1.0, total_tokens - self.warmup_tokens)
        return (1.0 - min(1.0, progress)) ** self.power
