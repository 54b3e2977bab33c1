"""Random search: whole trainings in the order in which the candidates are drawn. Bergstra and Bengio 2012."""

from collections.abc import Iterator

import numpy as np

from runners.replay.simulation import Action, View


def moves(view: View, chance: np.random.Generator) -> Iterator[Action]:
    """Train one candidate after the other to the end."""
    for candidate in range(len(view.reached)):
        yield Action(candidate, len(view.costs))
