"""Random search: whole trainings in the order in which the candidates are drawn. Bergstra and Bengio 2012."""

from collections.abc import Iterator

import numpy as np

from runners.replay.simulation import Move, View


def moves(view: View, chance: np.random.Generator) -> Iterator[Move]:
    """Train one candidate after the other to the end."""
    for candidate in range(len(view.reached)):
        yield Move(candidate, len(view.costs))
