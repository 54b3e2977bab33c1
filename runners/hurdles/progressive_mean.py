"""Progressive Dynamic Hurdles. So et al. 2019, The Evolved Transformer, arXiv 1901.11117, section 4 and figure 2.

The first cohort trains to the first mark only, and its mean becomes the first hurdle. Every later candidate that
beats all hurdles so far trains to the next mark; a new hurdle is the mean of those that have reached the present
furthest mark. Fitness is the negative held-out loss, so a value clears a hurdle by being below the mean.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

from pydantic import Field

from runners.hurdles.verdict import Verdict
from search_space.declaration import Count, Declaration

Losses = Sequence[float | None]  # one trial's held-out loss at mark 0, 1, …; shorter where it was stopped


class ProgressiveMean(Declaration):
    """Hurdles at the token marks; each is set by the candidates of earlier cohorts and then never moves."""

    kind: Literal["progressive_mean"] = "progressive_mean"
    marks: tuple[Count, ...] = Field(min_length=1, examples=[[500000, 1000000]])

    @property
    def token_marks(self) -> tuple[int, ...]:
        """Where the hurdles stand, in tokens."""
        return self.marks

    def judge(self, value: float | None, level: int, population: Mapping[str, Losses]) -> Verdict:
        """Return the verdict on the held-out loss at mark `level`.

        `population` holds the losses of every trial of the earlier cohorts by name. Where none of them has
        reached the mark there is no hurdle yet, and the trial stops here: it is one of those that set it.
        """
        reached = {name: losses[level] for name, losses in population.items() if len(losses) > level}
        cohort = {name: loss for name, loss in reached.items() if loss is not None and math.isfinite(loss)}
        if not cohort:
            return Verdict(False, value, None)
        threshold = fmean(cohort[name] for name in sorted(cohort))
        cleared = value is not None and math.isfinite(value) and value < threshold
        return Verdict(cleared, value, threshold, tuple(sorted(cohort)))
