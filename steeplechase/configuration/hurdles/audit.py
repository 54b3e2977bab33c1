"""Audit of a hurdle: an untruncated control sample of the stopped trials, drawn by seed and name alone.

Early rungs favour candidates that learn fast at first (So et al. 2019 compare at unequal budgets; arXiv 2508.14818
measures it). The final values of stopped trials estimate how often a hurdle is wrong.
"""

import math
from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from steeplechase.foundation.randomness import stream_seed
from steeplechase.foundation.schema import Schema, Seed

PositiveShare = Annotated[float, Field(gt=0, le=1)]


class Audit(Schema):
    """Trains a random share of the stopped trials to the end, to estimate the hurdle's error rate."""

    share: PositiveShare = 0.1
    """Share of the stopped trials that is trained to the end, rounded up."""
    seed: Seed = 0
    """Seed of the draw of the trials to audit."""

    def chosen(self, stopped: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the trials to audit, independent of the order in which they were stopped."""
        names = sorted(set(stopped))
        shuffled = sorted(names, key=lambda name: (stream_seed(self.seed, f"audit of {name}"), name))
        return tuple(sorted(shuffled[: math.ceil(len(names) * self.share - 1e-9)]))
