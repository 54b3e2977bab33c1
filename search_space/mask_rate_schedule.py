"""A share of predicted tokens that changes at the beginning of training. Ankner et al. 2023, arXiv 2305.15096."""

import math
from typing import Literal

from pydantic import Field

from steeplechase.foundation.schema import Count, Schema


class MaskRateSchedule(Schema):
    """From `initial_rate` to the objective's `mask_rate`, which stays from then on and is that of held-out losses."""

    initial_rate: float = Field(gt=0, lt=1, examples=[0.3])
    """Share of the tokens that is predicted in the first update. Ankner et al.: 0.3, with a `mask_rate` of 0.15."""
    tokens: Count = Field(examples=[16_384_000_000])
    """Training tokens before the share is `mask_rate`. Ankner et al.: all, that is `pretraining.tokens`."""
    shape: Literal["linear", "cosine"] = "linear"
    """The way between both: a straight line, or half a cosine (Yang et al. 2022, arXiv 2208.10806)."""

    def rate(self, mask_rate: float, tokens: int) -> float:
        """Return the share after `tokens` of training."""
        if tokens >= self.tokens:
            return mask_rate
        done = tokens / self.tokens
        left = 1 - done if self.shape == "linear" else (1 + math.cos(math.pi * done)) / 2
        return mask_rate + left * (self.initial_rate - mask_rate)
