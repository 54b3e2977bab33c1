"""The learning rate over the tokens: the schedules."""

import math
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from search_space.schedule.option import ScheduleOption
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import OPTION, Count

Schedule = Annotated[ScheduleOption, OPTION]


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


class CosineSchedule(ScheduleOption):
    """Linear warm-up, then half a cosine from the peak to zero at the last token (GPT, Transformer-XL).

    Loshchilov and Hutter 2017, arXiv 1608.03983, eq. 5, without restarts.
    """

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


class InverseSquareRootSchedule(ScheduleOption):
    """Linear warm-up, then tokens ** -0.5: a longer budget continues a shorter one's checkpoint.

    Vaswani et al. 2017, arXiv 1706.03762, eq. 3. With the decay from the end of the warm-up, and a peak rate of
    (width x warm-up updates) ** -0.5, it is their formula.
    """

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


class WarmupStableDecaySchedule(ScheduleOption):
    """Linear warm-up, the peak rate, and a linear decay to zero over the last share of the tokens.

    Up to the decay the rate is independent of the budget: a longer budget continues the checkpoint of a rung before.

    Hu et al. 2024, arXiv 2404.06395, section 4. The decay is linear to zero (Hägele et al. 2024, arXiv 2405.18392,
    section 3); Hu et al. decay exponentially.
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
