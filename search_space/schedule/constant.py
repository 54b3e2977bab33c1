"""Linear warm-up, then the peak rate."""

from typing import Literal

from search_space.schedule.option import ScheduleOption


class ConstantSchedule(ScheduleOption):
    """Linear warm-up, then the peak rate: a longer budget continues a shorter one's checkpoint."""

    kind: Literal["constant"] = "constant"
    """Chooses a constant rate after the warm-up."""

    @property
    def after_warm_up(self) -> str:
        """What the rate does after the warm-up, for the text of a recipe."""
        return "then constant"

    def horizon(self, total_tokens: int, until_tokens: int) -> int | None:
        """Return the budget that the rates depend on: None, they are independent of it."""
        return None

    def multiplier(self, tokens: int, total_tokens: float) -> float:
        """Return the share of the peak rate after `tokens`."""
        return self.warm_up(tokens)
