"""Linear warm-up times linear decay to zero at the last token. ELECTRA's release applies both together."""

from typing import Literal

from search_space.schedule.option import ScheduleOption


class LinearSchedule(ScheduleOption):
    """Linear warm-up times linear decay to zero at the last token (ELECTRA's release applies both together)."""

    kind: Literal["linear"] = "linear"
    """Chooses linear decay to zero at the last token."""

    @property
    def after_warm_up(self) -> str:
        """What the rate does after the warm-up, for the text of a recipe."""
        return "then linearly to 0"

    def horizon(self, total_tokens: int, until_tokens: int) -> int | None:
        """Return the budget that the rates of the first `until_tokens` depend on: all of it."""
        return total_tokens

    def multiplier(self, tokens: int, total_tokens: float) -> float:
        """Return the share of the peak rate after `tokens` of `total_tokens`."""
        return self.warm_up(tokens) * max(0.0, 1.0 - tokens / total_tokens)
