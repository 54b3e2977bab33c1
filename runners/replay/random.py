"""Random search: full trainings in random order. Bergstra and Bengio 2012."""

from collections.abc import Iterator

import numpy as np

from runners.replay.simulation import Action, View


def actions(view: View, generator: np.random.Generator) -> Iterator[Action]:
    """Yield a full training of one candidate after the other."""
    for candidate in range(len(view.reached)):
        yield Action(candidate, len(view.costs))
