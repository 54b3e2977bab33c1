"""Decay with the inverse square root of the tokens. Vaswani et al. 2017, arXiv 1706.03762, eq. 3.

With the decay from the end of the warm-up, and a peak rate of (width x warm-up updates) ** -0.5, it is their formula.
"""

import math
from collections.abc import Iterator
from typing import Literal

from search_space.schedule.option import ScheduleOption
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count


class InverseSquareRootSchedule(ScheduleOption):
    """Linear warm-up, then tokens ** -0.5: a longer budget continues a shorter one's checkpoint."""

    kind: Literal["inverse_square_root"] = "inverse_square_root"
    """Chooses decay with the inverse square root of the tokens."""
    decay_from_tokens: Count | None = None
    """Tokens at which the decay begins; the rate is at its peak before. Default: the end of the warm-up. Without a
    warm-up it must be given (T5, arXiv 1910.10683, section 3.1.2: no warm-up, decay from 10,000 updates)."""

    @property
    def after_warm_up(self) -> str:
        """What the rate does after the warm-up, for the text of a recipe."""
        later = "" if self.decay_from_tokens is None else f" from {self.decay_from_tokens:,} tokens"
        return f"then by the inverse square root{later}"

    def horizon(self, total_tokens: int, until_tokens: int) -> int | None:
        """Return the budget that the rates depend on: None, they are independent of it."""
        return None

    def multiplier(self, tokens: int, total_tokens: float) -> float:
        """Return the share of the peak rate after `tokens`."""
        begin = self.decay_from_tokens or max(1, self.warmup_tokens)
        return self.warm_up(tokens) * math.sqrt(begin / max(begin, tokens))

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        if self.decay_from_tokens is None and self.warmup_tokens == 0:
            message = (
                "without a warm-up the decay has no beginning; set decay_from_tokens, or the tokens of one update"
            )
            yield Violation(("warmup_tokens",), message)
        elif self.decay_from_tokens is not None and self.decay_from_tokens < self.warmup_tokens:
            message = f"{self.decay_from_tokens} is within the warm-up of {self.warmup_tokens} tokens"
            yield Violation(("decay_from_tokens",), message)
