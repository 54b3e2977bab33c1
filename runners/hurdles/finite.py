"""The hurdle that every trial meets: its held-out loss is a finite number. NaN, missing and infinite never pass."""

import math
from collections.abc import Mapping
from typing import Literal

from runners.hurdles.verdict import Verdict
from search_space.declaration import Declaration


class Finite(Declaration):
    """Only a diverged trial is stopped; a planned row of a table is never stopped for being weak."""

    kind: Literal["finite"] = "finite"

    @property
    def token_marks(self) -> tuple[int, ...]:
        """Where the hurdles stand, in tokens: nowhere before the end."""
        return ()

    def judge(self, value: float | None, level: int, population: Mapping[str, tuple[float | None, ...]]) -> Verdict:
        """Return the verdict on a held-out loss; the population does not matter."""
        return Verdict(value is not None and math.isfinite(value), value, None)
