"""Learning-rate schedules as functions of tokens: equal tokens mean equal phase in every arm."""

from typing import Annotated, Literal

from foundation.schema import OPTION, Count, Schema


class LinearSchedule(Schema):
    """Linear warm-up times linear decay to zero at the last token (ELECTRA's release applies both together)."""

    kind: Literal["linear"] = "linear"
    """Chooses linear decay to zero at the last token."""
    warmup_tokens: Count = 163_840_000
    """Tokens until the rate reaches its peak. Default: 10,000 updates of 128 x 128 (ELECTRA, appendix A)."""

    def horizon(self, total_tokens: int) -> int | None:
        """Return the budget that the rate at earlier tokens depends on: all of it."""
        return total_tokens

    def multiplier(self, tokens: int, total_tokens: int) -> float:
        """Return the share of the peak rate after `tokens` of `total_tokens` have been seen."""
        return min(1.0, tokens / self.warmup_tokens) * max(0.0, 1.0 - tokens / total_tokens)


class ConstantSchedule(Schema):
    """Linear warm-up, then the peak rate: a longer budget continues a shorter one's checkpoint."""

    kind: Literal["constant"] = "constant"
    """Chooses a constant rate after the warm-up."""
    warmup_tokens: Count = 163_840_000
    """Tokens until the rate reaches its peak. Default: 10,000 updates of 128 x 128 (ELECTRA, appendix A)."""

    def horizon(self, total_tokens: int) -> int | None:
        """Return the budget that the rate at earlier tokens depends on: None, it is independent of the budget."""
        return None

    def multiplier(self, tokens: int, total_tokens: int) -> float:
        """Return the share of the peak rate after `tokens` have been seen."""
        return min(1.0, tokens / self.warmup_tokens)


Schedule = Annotated[LinearSchedule | ConstantSchedule, OPTION]
