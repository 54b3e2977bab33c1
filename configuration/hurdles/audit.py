"""The audit of a hurdle: a random share of the stopped is trained to the end, chosen by seed and name alone.

Early rungs favour quick starters (So et al. 2019 compare at unequal budgets; arXiv 2508.14818 measures it), and only
the stopped can tell how often that was wrong.
"""

import math
from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from foundation.randomness import stream_seed
from foundation.schema import Schema, Seed

PositiveShare = Annotated[float, Field(gt=0, le=1)]


class Audit(Schema):
    """The share of the stopped that is trained on, rounded up, and the seed that chooses them."""

    share: PositiveShare = 0.1
    """Share of the stopped trials that is trained to the end, rounded up."""
    seed: Seed = 0
    """Seed of the draw of the trials to audit."""

    def chosen(self, stopped: Iterable[str]) -> tuple[str, ...]:
        """Return the trials to audit, by name; whoever was stopped first makes no difference."""
        names = sorted(set(stopped))
        lot = sorted(names, key=lambda name: (stream_seed(self.seed, f"audit of {name}"), name))
        return tuple(sorted(lot[: math.ceil(len(names) * self.share - 1e-9)]))
